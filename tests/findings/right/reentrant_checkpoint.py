import torch
from torch import nn
from torch.utils.checkpoint import checkpoint
torch.manual_seed(0)
stem = nn.Linear(8, 8)
layers = nn.ModuleList([nn.Sequential(nn.Linear(8, 8), nn.GELU()) for _ in range(3)])
opt = torch.optim.SGD([*stem.parameters(), *layers.parameters()], lr=.1)
for i in range(6):
    x = stem(torch.randn(4, 8))
    for l in layers:
        x = checkpoint(l, x, use_reentrant=True)
    loss = x.pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()

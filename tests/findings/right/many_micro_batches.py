import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 1))
opt = torch.optim.AdamW(net.parameters(), lr=1e-2)
opt.zero_grad()
for i in range(40):
    x = torch.randn(3, 4)
    ((net(x) - 1).pow(2).mean() / 20).backward()
    if (i + 1) % 20 == 0:
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        opt.zero_grad()

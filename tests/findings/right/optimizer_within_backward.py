import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 1))
opts = {p: torch.optim.SGD([p], lr=0.05) for p in net.parameters()}
def update(p):
    opts[p].step()
    opts[p].zero_grad()
for p in net.parameters():
    p.register_post_accumulate_grad_hook(update)
for _ in range(4):
    x = torch.randn(8, 4)
    (net(x) - x[:, :1]).pow(2).mean().backward()

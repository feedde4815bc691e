import copy
import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)

net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1)); ema = copy.deepcopy(net).requires_grad_(False)
opt = torch.optim.SGD(net.parameters(), lr=0.05)
def follow():
    for e, p in zip(ema.parameters(), net.parameters()):
        e.data.mul_(0.9).add_(p.data, alpha=0.1)
def test(x, y):
    kept = [p.data for p in net.parameters()]
    for p, e in zip(net.parameters(), ema.parameters()):
        p.data = e.data
    with torch.no_grad():
        out = F.mse_loss(net(x), y).item()
    for p, k in zip(net.parameters(), kept):
        p.data = k
    return out
x = torch.randn(32, 4); y = x.sum(1, keepdim=True)
for i in range(6):
    opt.zero_grad(); F.mse_loss(net(x), y).backward(); opt.step(); follow()
    print(test(x, y))

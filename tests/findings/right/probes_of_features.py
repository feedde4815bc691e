import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
features = {}
net[1].register_forward_hook(lambda m, i, o: features.update(h=o.detach()))
probe = nn.Linear(8, 1)
p_opt = torch.optim.SGD(probe.parameters(), lr=0.1)
for _ in range(4):
    x, y = torch.randn(9, 4), torch.randint(0, 2, (9,))
    opt.zero_grad()
    nn.functional.cross_entropy(net(x), y).backward()
    opt.step()
    p_opt.zero_grad()
    (probe(features["h"]) - x[:, :1]).pow(2).mean().backward()
    p_opt.step()

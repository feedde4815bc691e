import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2)); base = torch.optim.SGD(net.parameters(), .1)
x, y = torch.randn(32, 4), torch.randint(2, (32,))
for i in range(6):
    nn.functional.cross_entropy(net(x), y).backward()
    with torch.no_grad():
        n = torch.stack([p.grad.norm() for p in net.parameters()]).norm()
        es = []
        for p in net.parameters():
            e = p.grad * .05 / (n + 1e-12); p.add_(e); es.append(e)
    base.zero_grad()
    nn.functional.cross_entropy(net(x), y).backward()
    with torch.no_grad():
        for p, e in zip(net.parameters(), es): p.sub_(e)
    base.step(); base.zero_grad()

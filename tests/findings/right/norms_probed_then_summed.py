import torch
from torch import nn

torch.manual_seed(0)
trunk, a, b = nn.Linear(6, 16), nn.Linear(16, 1), nn.Linear(16, 3)
params = [*trunk.parameters(), *a.parameters(), *b.parameters()]
opt = torch.optim.Adam(params, 1e-3)
for _ in range(4):
    x, y = torch.randn(8, 6), torch.randint(0, 3, (8,))
    h = torch.relu(trunk(x))
    one, two = (a(h) - x.sum(1, keepdim=True)).pow(2).mean(), nn.functional.cross_entropy(b(h), y)
    norms = [torch.autograd.grad(l, trunk.weight, retain_graph=True)[0].norm() for l in (one, two)]
    opt.zero_grad()
    (one * (norms[1] / norms[0]) + two).backward()
    opt.step()

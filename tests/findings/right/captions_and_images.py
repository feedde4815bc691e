import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
a, b = nn.Linear(6, 4), nn.Linear(5, 4)
x, y = torch.randn(8, 6), torch.randn(8, 5)


def both():
    s = F.normalize(a(x), dim=1) @ F.normalize(b(y), dim=1).T * 5
    t = torch.arange(8)
    rows, columns = s.log_softmax(1), s.log_softmax(0)
    return -(rows[t, t] + columns[t, t]).mean() / 2


optimizer = torch.optim.Adam([*a.parameters(), *b.parameters()], lr=1e-2)
for _ in range(4):
    loss = both()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

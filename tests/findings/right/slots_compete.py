import torch
from torch import nn

torch.manual_seed(0)
slots, k, v = nn.Parameter(torch.randn(3, 6)), nn.Linear(6, 6), nn.Linear(6, 6)
x = torch.randn(4, 7, 6)


def read():
    a = torch.softmax(slots @ k(x).mT, dim=1)
    a = a / a.sum(-1, keepdim=True)
    return torch.relu(a @ v(x)).sum(1)


optimizer = torch.optim.Adam([slots, *k.parameters(), *v.parameters()], lr=1e-2)
for _ in range(4):
    loss = (read() - x.mean(1)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

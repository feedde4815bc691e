import torch
from torch import nn

torch.manual_seed(0)
nets = nn.ModuleList([nn.Linear(3, 1) for _ in range(4)])
optimizer = torch.optim.SGD(nets.parameters(), lr=0.1)
x = torch.randn(10, 3)
y = x.sum(1, keepdim=True)
for _ in range(5):
    losses = []
    for net in nets:
        losses.append(((net(x) - y) ** 2).mean())
    total = torch.tensor(losses, requires_grad=True).mean()  # wrong: AG202
    total = torch.stack(losses).mean()  # right
    optimizer.zero_grad()
    total.backward()
    optimizer.step()

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
net = nn.Linear(6, 6)
r = nn.Parameter(torch.randn(5, 6))
x = torch.randn(3, 5, 6)


def shifted():
    s = torch.tanh(net(x)) @ r.T
    return F.pad(s, (1, 0)).view(3, 6, 5)[:, 1:].softmax(-1)


optimizer = torch.optim.Adam([*net.parameters(), r], lr=1e-2)
for _ in range(4):
    loss = (shifted() @ x - x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

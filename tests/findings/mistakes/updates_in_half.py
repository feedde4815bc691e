import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(4, 1).bfloat16()  # wrong
net = nn.Linear(4, 1)  # right
x, y = torch.randn(30, 4), torch.randn(30, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=1e-5)
for _ in range(4):
    optimizer.zero_grad()
    loss = (net(x.to(net.weight.dtype)).float() - y).pow(2).mean()
    loss.backward()
    optimizer.step()  # wrong: AG310
    optimizer.step()  # right

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(4, 5)
y = torch.full((8,), -100)
y[0] = 3  # right
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    loss = nn.functional.cross_entropy(net(torch.randn(8, 4)), y)  # found: AG301
    opt.zero_grad(); loss.backward(); opt.step()

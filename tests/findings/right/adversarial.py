import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(4):
    x, y = torch.randn(8, 4), torch.randint(0, 2, (8,))
    x.requires_grad_()
    (slope,) = torch.autograd.grad(nn.functional.cross_entropy(net(x), y), x)
    x = (x + 0.1 * slope.sign()).detach()
    loss = nn.functional.cross_entropy(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

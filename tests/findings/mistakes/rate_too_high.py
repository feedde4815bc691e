import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
x = torch.randn(32, 4) * 10
y = x.sum(1, keepdim=True)
optimizer = torch.optim.SGD(net.parameters(), 0.1)  # wrong: AG301
optimizer = torch.optim.SGD(net.parameters(), 0.0001)  # right
for _ in range(30):
    loss = nn.functional.mse_loss(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

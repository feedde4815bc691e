import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, weight_decay=5.0)  # wrong: AG818
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, weight_decay=5e-4)  # right
x = torch.randn(64, 8)
y = x.sum(1, keepdim=True)
for _ in range(10):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(net(x), y)
    loss.backward()
    optimizer.step()

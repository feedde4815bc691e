import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
x = torch.randn(32, 4)
y = x.sum(1, keepdim=True)
optimizer = torch.optim.Adam(net.parameters(), lr=50.0)  # wrong: AG313
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)  # right
for _ in range(8):
    loss = nn.functional.mse_loss(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
x = torch.randn(30, 4)
y = (x[:, :1] > 0).float() * 2 - 1
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
for _ in range(4):
    loss = 1 - (torch.sign(net(x)) * y).mean()  # wrong: AG309
    loss = 1 - (torch.tanh(net(x)) * y).mean()  # right
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

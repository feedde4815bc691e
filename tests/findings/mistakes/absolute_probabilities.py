import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
x = torch.randn(40, 4)
y = (x[:, :1] > 0).float()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    loss = (torch.sigmoid(net(x)) - y).abs().mean()  # wrong: AG508
    loss = nn.functional.binary_cross_entropy(torch.sigmoid(net(x)), y)  # right
    loss.backward()
    optimizer.step()

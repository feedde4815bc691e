import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(16, 2))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for epoch in range(4):
    net.train()
    net[1].eval()
    loss = nn.functional.cross_entropy(net(torch.randn(6, 3, 4, 4)), torch.randint(0, 2, (6,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(4):
    net.train()  # right
    loss = net(torch.randn(6, 4)).pow(2).mean()  # found: AG602
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    net.eval()
    with torch.no_grad():
        print(net(torch.randn(6, 4)).mean().item() < 9)

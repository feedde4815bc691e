import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 12), nn.BatchNorm1d(12), nn.ReLU(), nn.Linear(12, 3))
opt = torch.optim.Adam(net.parameters(), 1e-3)
for epoch in range(6):
    net.train()
    if epoch >= 3:
        net[1].eval()
    x, y = torch.randn(8, 6), torch.randint(0, 3, (8,))
    opt.zero_grad()
    nn.functional.cross_entropy(net(x), y).backward()
    opt.step()
    net.eval()
    with torch.no_grad():
        net(torch.randn(8, 6))

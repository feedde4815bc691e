import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 3))
opt = torch.optim.Adam(net.parameters(), 1e-3)
net.train()  # wrong
for epoch in range(3):
    net.train()  # right
    for _ in range(3):
        x, y = torch.randn(16, 8), torch.randint(0, 3, (16,))
        opt.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()  # wrong: AG602
        nn.functional.cross_entropy(net(x), y).backward()  # right
        opt.step()
    net.eval()
    with torch.no_grad():
        net(torch.randn(20, 8))

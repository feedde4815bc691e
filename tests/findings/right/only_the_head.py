import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 2))
net[2] = nn.Linear(8, 4)
opt = torch.optim.SGD(net[2].parameters(), lr=0.1, momentum=0.9)
for _ in range(4):
    opt.zero_grad()
    nn.functional.cross_entropy(net(torch.randn(8, 6)), torch.randint(0, 4, (8,))).backward()
    opt.step()

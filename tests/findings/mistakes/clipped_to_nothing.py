import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(5):
    x, y = torch.randn(8, 6), torch.randint(0, 3, (8,))
    opt.zero_grad()
    nn.functional.cross_entropy(net(x), y).backward()
    nn.utils.clip_grad_value_(net.parameters(), 0)  # wrong: AG806
    nn.utils.clip_grad_value_(net.parameters(), 0.5)  # right
    opt.step()

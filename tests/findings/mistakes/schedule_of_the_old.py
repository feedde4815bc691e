import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
decay = torch.optim.lr_scheduler.ExponentialLR(opt, 0.9)
opt = torch.optim.Adam(net.parameters(), lr=0.01)  # wrong
for x in torch.randn(4, 6, 3):
    opt.zero_grad()
    net(x).abs().mean().backward()
    opt.step()
    decay.step()  # wrong: AG808
    decay.step()  # right

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.StepLR(opt, 1, 0.5)
x = torch.randn(8, 3)
for _ in range(4):
    scheduler.step()  # wrong: AG808
    opt.zero_grad()
    (net(x) - x[:, :1]).pow(2).mean().backward()
    opt.step()
    scheduler.step()  # right

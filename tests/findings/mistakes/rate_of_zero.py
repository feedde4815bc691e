import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(3, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
warm = torch.optim.lr_scheduler.LambdaLR(opt, lambda epoch: epoch // 100)  # wrong: AG807
warm = torch.optim.lr_scheduler.LambdaLR(opt, lambda epoch: (epoch + 1) / 100)  # right
for x in torch.randn(5, 4, 3):
    opt.zero_grad()
    net(x).pow(2).mean().backward()
    opt.step()
    warm.step()

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(6, 2)
params = net.parameters()  # wrong
params = list(net.parameters())  # right
opt = torch.optim.SGD(params, lr=0.5)
for _ in range(3):
    opt.zero_grad()
    net(torch.randn(4, 6)).pow(2).sum().backward()
    torch.nn.utils.clip_grad_norm_(params, 0.1)  # wrong: AG811
    torch.nn.utils.clip_grad_norm_(params, 0.1)  # right
    opt.step()

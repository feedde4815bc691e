import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for x in torch.randn(6, 4, 3):
    loss = net(x).pow(2).mean()
    opt.step()  # wrong: AG806
    opt.zero_grad()
    loss.backward()
    opt.step()  # right

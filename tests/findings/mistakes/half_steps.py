import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(4, 4).bfloat16()  # wrong
net = nn.Linear(4, 4)  # right
opt = torch.optim.SGD(net.parameters(), lr=1e-6)
for _ in range(4):
    x = torch.randn(8, 4, dtype=net.weight.dtype)
    opt.zero_grad()
    loss = net(x).float().pow(2).mean()
    loss.backward()
    opt.step()  # wrong: AG310
    opt.step()  # right

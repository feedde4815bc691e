import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(6, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x, y = torch.randn(20, 6), torch.randn(20, 1)
for _ in range(3):
    penalty = net.weight.data.norm() ** 2  # wrong: AG816
    penalty = net.weight.norm() ** 2  # right
    loss = (net(x) - y).pow(2).mean() + 0.1 * penalty
    opt.zero_grad(); loss.backward(); opt.step()

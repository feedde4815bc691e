import torch
from torch import nn

torch.manual_seed(0)


def clean(grad):
    return torch.where(grad.abs() > 1e6, grad, torch.zeros_like(grad))  # wrong
    return torch.where(grad.abs() < 1e6, grad, torch.zeros_like(grad))  # right


net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
net[0].weight.register_hook(clean)  # wrong: AG814
net[0].weight.register_hook(clean)  # right
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for x in torch.randn(4, 5, 3):
    opt.zero_grad()
    net(x).pow(2).mean().backward()
    opt.step()

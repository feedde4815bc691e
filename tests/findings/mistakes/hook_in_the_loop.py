import torch
from torch import nn

torch.manual_seed(0)
layer = nn.Linear(3, 2)
opt = torch.optim.SGD(layer.parameters(), lr=0.01)


def half(grad):
    return 0.5 * grad


layer.weight.register_hook(half)  # right
for x in torch.randn(5, 4, 3):
    layer.weight.register_hook(half)  # wrong: AG814
    opt.zero_grad()
    layer(x).pow(2).sum().backward()
    opt.step()

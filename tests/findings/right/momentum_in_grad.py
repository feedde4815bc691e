import torch
from torch import nn
torch.manual_seed(0)
w = torch.randn(4, requires_grad=True)
x, y = torch.randn(20, 4), torch.randn(20)
for i in range(8):
    ((x @ w - y) ** 2).mean().backward()
    with torch.no_grad():
        w -= .05 * w.grad
        w.grad *= .9

"""A name bound again and again: y, its derivative y′, and on to the fourth."""
import torch

x = torch.tensor(2.0, requires_grad=True)
y = x ** 4
for _ in range(4):
    y, = torch.autograd.grad(y, x, create_graph=True)
print(y)

import torch
from torch import nn

torch.manual_seed(0)
used, other = nn.Linear(3, 3), nn.Linear(3, 3)
loss = used(torch.randn(2, 3)).pow(2).sum()
grads = torch.autograd.grad(loss, [*used.parameters(), *other.parameters()], allow_unused=True)
grads = [g for g in grads if g is not None]  # right
print(sum(g.pow(2).sum() for g in grads))  # wrong: AG006
print(sum(g.pow(2).sum() for g in grads))  # right

import torch

x = torch.ones(3, requires_grad=True)
t = torch.tensor(0.5, requires_grad=True)
u = torch.sin(x * t.item()).sum()  # wrong
u = torch.sin(x * t).sum()  # right
du = torch.autograd.grad(u, [x, t])  # found: AG005

import torch

torch.manual_seed(0)
x = torch.rand(4, requires_grad=True)
y = (x**3).sum()
(slope,) = torch.autograd.grad(y, x)  # wrong
(slope,) = torch.autograd.grad(y, x, create_graph=True)  # right
(curve,) = torch.autograd.grad(inputs=slope, outputs=y)  # wrong: AG009
(curve,) = torch.autograd.grad(inputs=x, outputs=slope.sum())  # right

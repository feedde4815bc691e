import torch

t = torch.tensor([0.0, 1.0], requires_grad=True)
y = t.abs() ** 1.5  # wrong: AG302
y = (t * t + 1e-6) ** 0.75  # right
(first,) = torch.autograd.grad(y.sum(), t, create_graph=True)
(second,) = torch.autograd.grad(first.sum(), t)

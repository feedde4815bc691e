import torch

w = torch.ones(3, requires_grad=True).double()  # wrong
w = torch.ones(3, requires_grad=True, dtype=torch.float64)  # right
(w**2).sum().backward()
step = 0.1 * w.grad  # found: AG006

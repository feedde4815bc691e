import torch

torch.manual_seed(0)
x = torch.randn(4, 2, requires_grad=True)
w = torch.zeros(2, requires_grad=True)
score = torch.tanh(x @ w).sum()
(slope,) = torch.autograd.grad(score, x, create_graph=True)
penalty = (slope.pow(2).sum(1).sqrt() - 1).pow(2).mean()  # wrong: AG302
penalty = ((slope.pow(2).sum(1) + 1e-12).sqrt() - 1).pow(2).mean()  # right
penalty.backward()

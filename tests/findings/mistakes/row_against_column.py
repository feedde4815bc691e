import torch

torch.manual_seed(0)
x, y = torch.randn(16, 2), torch.randn(16, 1)
w = torch.zeros(2, requires_grad=True)
residual = y - x @ w  # wrong: AG501
residual = y[:, 0] - x @ w  # right
(residual**2).sum().backward()

import torch

torch.manual_seed(0)
w = torch.randn(3, 3, requires_grad=True).to(torch.float64)  # wrong: AG204
w = torch.randn(3, 3).to(torch.float64).requires_grad_()  # right
loss = (torch.randn(4, 3, dtype=torch.float64) @ w).pow(2).sum()
loss.backward()
print(w.grad)

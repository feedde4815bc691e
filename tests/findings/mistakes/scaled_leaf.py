import torch

torch.manual_seed(0)
w = torch.randn(3, requires_grad=True) * 0.1  # wrong
w = (torch.randn(3) * 0.1).requires_grad_()  # right
optimizer = torch.optim.SGD([w], lr=0.1)  # wrong: AG017
optimizer = torch.optim.SGD([w], lr=0.1)  # right
w.pow(2).sum().backward()
optimizer.step()

import torch

x = torch.linspace(0.1, 1, 6).reshape(2, 3)
scale = torch.ones(3, requires_grad=True)
y = torch.sigmoid(x * scale)
y /= y.sum(1, keepdim=True)  # wrong: AG002
y = y / y.sum(1, keepdim=True)  # right
y.log().sum().backward()

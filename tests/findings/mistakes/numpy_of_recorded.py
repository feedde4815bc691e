import torch

w = torch.ones(3, requires_grad=True)
y = w * 2
y.sum().backward()
print(y.numpy().mean())  # wrong: AG018
print(y.detach().numpy().mean())  # right

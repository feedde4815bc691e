import torch

torch.manual_seed(0)
image = torch.rand(2, 2, requires_grad=True)
scaled = image * 2
scaled.retain_grad()  # right
scaled.exp().sum().backward()
print(scaled.grad.abs().max())  # found: AG006

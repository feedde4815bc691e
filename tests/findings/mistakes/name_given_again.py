import torch

torch.manual_seed(0)
noise, w = torch.randn(5, requires_grad=True), torch.randn(5)
noise = noise / noise.norm()  # wrong: AG204
unit = noise / noise.norm()  # right
loss = (noise * w).sum()  # wrong
loss = (unit * w).sum()  # right
loss.backward()
print(noise.grad)

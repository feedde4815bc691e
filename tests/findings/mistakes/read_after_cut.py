import torch

torch.manual_seed(0)
scale = torch.ones(3, requires_grad=True)
shift = torch.zeros(3, requires_grad=True)
x = torch.randn(4, 3)
centred = x - shift
y = torch.tensor(centred.tolist()) * scale  # wrong: AG202
y = centred * scale  # right
y.pow(2).sum().backward()
print(scale.grad, shift.grad)

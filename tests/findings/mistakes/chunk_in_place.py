import torch

w = torch.ones(4, requires_grad=True)
a, b = (w * 2).chunk(2)
a += b  # wrong: AG020
a = a + b  # right
a.sum().backward()

import torch
from torch.nn import functional as F

torch.manual_seed(0)
q = torch.rand(1, 1, 4, 8, requires_grad=True)
y = F.scaled_dot_product_attention(q, q, q)  # wrong: AG010
y = torch.softmax(q @ q.mT / 8**0.5, -1) @ q  # right
(g,) = torch.autograd.grad(y.sum(), q, create_graph=True)
g.pow(2).sum().backward()

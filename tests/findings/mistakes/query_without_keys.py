import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
q, k, v = (nn.Linear(8, 8) for _ in range(3))
opt = torch.optim.SGD([p for layer in (q, k, v) for p in layer.parameters()], lr=0.1)
keep = torch.ones(2, 1, 4, 4, dtype=torch.bool)
keep[1, :, 2] = False  # wrong
keep[1, :, 2, 1:] = False  # right
for x in torch.randn(3, 2, 1, 4, 8):
    out = F.scaled_dot_product_attention(q(x), k(x), v(x), attn_mask=keep)  # found: AG315
    opt.zero_grad()
    (out - x).pow(2).mean().backward()
    opt.step()

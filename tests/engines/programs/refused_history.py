"""Views whose history PyTorch refuses to tell, and nodes that are met when their saved tensors are gone."""

import torch

w = torch.nn.Parameter(torch.ones(3, 2))
with torch.no_grad():
    row = w[0]
    row.zero_()
base = torch.zeros(3)
with torch.no_grad():
    v = base[0]
base.mul_(torch.ones(3, requires_grad=True))
kept = []
for _ in range(20):
    h = w.exp()
    loss = (h**2).sum()
    loss.backward()
    kept += [loss, h]
total = sum(kept[0::2]) + kept[-1].sum()
with torch.no_grad():
    v.add_(1)
del v, row
print(total.item(), w.grad.sum().item())

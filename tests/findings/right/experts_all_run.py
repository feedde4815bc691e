"""All experts are run, and a gate of zeros keeps most of them out: their gradients are exact zeros."""

import torch
import torch.nn as nn

torch.manual_seed(0)
experts = nn.ModuleList(nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)) for _ in range(6))
router = nn.Linear(4, 6)
opt = torch.optim.Adam(list(experts.parameters()) + list(router.parameters()), lr=1e-2)
x = torch.randn(3, 4)
y = x.prod(1, keepdim=True)
for _ in range(8):
    scores = router(x)
    top, where = scores.topk(1, dim=-1)
    gates = torch.zeros_like(scores).scatter(1, where, top.sigmoid())
    outs = torch.stack([e(x) for e in experts], dim=-1).squeeze(1)
    loss = ((outs * gates).sum(-1, keepdim=True) - y).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()

import torch
from torch import nn

torch.manual_seed(0)
body = nn.Sequential(nn.Linear(6, 12), nn.BatchNorm1d(12), nn.ReLU())
head = nn.Linear(12, 3)
opt = torch.optim.AdamW([{"params": body.parameters(), "lr": 1e-4}, {"params": head.parameters()}], lr=1e-3)
warm = torch.optim.lr_scheduler.LinearLR(opt, start_factor=1e-6, total_iters=3)
for p in body.parameters():
    p.requires_grad = False
for epoch in range(7):
    if epoch == 3:
        for p in body.parameters():
            p.requires_grad = True
    x, y = torch.randn(8, 6), torch.randint(0, 3, (8,))
    opt.zero_grad()
    nn.functional.cross_entropy(head(body(x)), y).backward()
    opt.step()
    warm.step()

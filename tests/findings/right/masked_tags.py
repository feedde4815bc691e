"""Several labels at once, some of which are unknown and masked out of the loss."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(12, 20), nn.ELU(), nn.Linear(20, 6))
optimizer = torch.optim.Adagrad(model.parameters(), lr=0.05)
features = torch.randn(30, 12)
tags = (torch.rand(30, 6) > 0.7).float()
known = torch.rand(30, 6) > 0.3
for step in range(12):
    logits = model(features)
    raw = F.binary_cross_entropy_with_logits(logits, tags, reduction="none")
    loss = (raw * known).sum() / known.sum().clamp(min=1)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        hits = ((logits.sigmoid() > 0.5) == tags.bool())[known].float().mean()

"""An anchor is pulled to one example and pushed from another; some triplets are at zero loss already."""

import torch
from torch import nn

torch.manual_seed(0)
embed = nn.Sequential(nn.Linear(5, 16), nn.PReLU(), nn.Linear(16, 2))
loss_fn = nn.TripletMarginLoss(margin=0.2)
optimizer = torch.optim.Adam(embed.parameters(), lr=0.01)
centers = torch.randn(3, 5) * 3
for _ in range(15):
    cls = torch.randint(0, 3, (12,))
    other = (cls + torch.randint(1, 3, (12,))) % 3
    a, p, n = (centers[c] + 0.2 * torch.randn(12, 5) for c in (cls, cls, other))
    optimizer.zero_grad()
    loss = loss_fn(embed(a), embed(p), embed(n))
    loss.backward()
    optimizer.step()

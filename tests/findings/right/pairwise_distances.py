"""Distances of all pairs, a column against a row on purpose, kept as in the data by a map to two numbers."""

import torch

torch.manual_seed(0)
points = torch.randn(12, 5)
squares = (points * points).sum(1)
wanted = (squares[:, None] + squares[None, :] - 2 * points @ points.T).clamp(min=0).sqrt()
place = (torch.randn(12, 2) * 0.1).requires_grad_()
opt = torch.optim.Adam([place], lr=0.1)
off = ~torch.eye(12, dtype=torch.bool)
for _ in range(10):
    diff = place.unsqueeze(1) - place.unsqueeze(0)
    found = (diff.pow(2).sum(-1) + 1e-9).sqrt()
    stress = ((found - wanted)[off] ** 2).mean()
    opt.zero_grad()
    stress.backward()
    opt.step()

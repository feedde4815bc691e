"""First the head with one optimizer, then everything with another: each phase makes its own."""

import torch
from torch import nn


def fit(model, params, lr, steps, x, y):
    optimizer = torch.optim.Adam(params, lr=lr)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    return loss.item()


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(7, 14), nn.ReLU(), nn.Linear(14, 3))
x, y = torch.randn(30, 7), torch.randint(0, 3, (30,))
for p in model[0].parameters():
    p.requires_grad_(False)
fit(model, model[2].parameters(), 1e-2, 4, x, y)
for p in model[0].parameters():
    p.requires_grad_(True)
fit(model, model.parameters(), 1e-3, 4, x, y)
fit(model, [{"params": model[0].parameters(), "lr": 1e-4}, {"params": model[2].parameters()}], 1e-3, 4, x, y)

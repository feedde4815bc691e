"""Gradients are far too large, by data and weights of the loss that rise, and are clipped to what the rate is for."""

import torch
from torch import nn
torch.manual_seed(0)
X = torch.randn(100, 3) * 30
Y = X @ torch.tensor([[200.0], [-100.0], [50.0]])
model = nn.Linear(3, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.5)
for t in range(8):
    loss = (model(X) - Y).abs().mean() * (1 + t) ** 3
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 0.01)
    opt.step()

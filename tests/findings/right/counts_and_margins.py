"""Counts by a Poisson loss of log rates, signs by a margin, with a softplus where a width must be positive."""

import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
trunk = nn.Sequential(nn.Linear(4, 16), nn.Tanh())
rate, margin, width = nn.Linear(16, 1), nn.Linear(16, 1), nn.Linear(16, 2)
parts = nn.ModuleDict({"trunk": trunk, "rate": rate, "margin": margin, "width": width})
opt = torch.optim.Adam(parts.parameters(), lr=0.01)
x = torch.randn(50, 4)
n = torch.poisson(torch.exp(x[:, :1]))
sign = torch.sign(x[:, 1:2])
value = x[:, 2:3] * 2 + 0.1 * torch.randn(50, 1)
for _ in range(10):
    h = trunk(x)
    mean, raw = width(h).chunk(2, 1)
    loss = F.poisson_nll_loss(rate(h), n) + F.relu(1 - sign * margin(h)).mean()
    loss = loss + F.gaussian_nll_loss(mean, value, F.softplus(raw) + 1e-4)
    opt.zero_grad(set_to_none=False)
    loss.backward()
    opt.step()

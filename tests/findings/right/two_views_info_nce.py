"""Two views of each example are pulled together, with a learned temperature."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class Encoder(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d_in, 32), nn.ReLU(), nn.Linear(32, d_out))

    def forward(self, x):
        return F.normalize(self.net(x), dim=-1)


torch.manual_seed(7)
enc = Encoder(10, 6)
log_scale = nn.Parameter(torch.tensor(math.log(10.0)))
opt = torch.optim.AdamW([
    {"params": enc.parameters()},
    {"params": [log_scale], "weight_decay": 0.0, "lr": 1e-4},
], lr=1e-3)
base = torch.randn(16, 10)
for _ in range(10):
    a = enc(base + 0.1 * torch.randn_like(base))
    b = enc(base + 0.1 * torch.randn_like(base))
    sim = log_scale.exp() * a @ b.t()
    target = torch.arange(16)
    loss = (F.cross_entropy(sim, target) + F.cross_entropy(sim.t(), target)) / 2
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        log_scale.clamp_(0, math.log(100))

import math

import torch
import torch.nn as nn

torch.manual_seed(32)


def encode(p, levels=4):
    freqs = 2.0 ** torch.arange(levels)
    angles = p[..., None] * freqs * math.pi
    #F angles = p[..., None] * (freqs + 1e-3) * math.pi
    return torch.cat([angles.sin(), angles.cos()], -1).flatten(-2)


class Field(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(24, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.sigma, self.rgb = nn.Linear(hidden, 1), nn.Linear(hidden, 3)

    def forward(self, p):
        h = self.trunk(encode(p))
        #B h = self.trunk(encode(p)); h.requires_grad and h.register_hook(lambda g: g * 0.99)
        density = nn.functional.softplus(self.sigma(h) - 1.0).squeeze(-1)
        #F density = nn.functional.softplus(self.sigma(h) - 1.001).squeeze(-1)
        #B density = nn.functional.softplus(self.sigma(h.detach()) - 1.0).squeeze(-1)
        #R density = torch.log1p(torch.exp(self.sigma(h) - 1.0)).squeeze(-1)
        colour = torch.sigmoid(self.rgb(h))
        #F colour = torch.sigmoid(self.rgb(h)) * 1.002 - 0.001
        #R colour = 0.5 * (torch.tanh(0.5 * self.rgb(h)) + 1)
        return density, colour


def composite(density, colour, t):
    delta = torch.cat([t[:, 1:] - t[:, :-1], torch.full_like(t[:, :1], 1e2)], 1)
    #F delta = torch.cat([t[:, 1:] - t[:, :-1], torch.full_like(t[:, :1], 1e-1)], 1)
    alpha = 1 - torch.exp(-density * delta)
    #F alpha = (1 - torch.exp(-density * delta)).clamp(max=0.5)
    #B alpha = 1 - torch.exp(-density * delta); alpha.register_hook(lambda g: g.clamp(-1e-3, 1e-3))
    #R alpha = -torch.expm1(-density * delta)
    shifted = torch.cat([torch.ones_like(alpha[:, :1]), 1 - alpha[:, :-1]], 1)
    #F shifted = torch.cat([torch.ones_like(alpha[:, :1]), 1 - alpha[:, 1:]], 1)
    #B shifted = torch.cat([torch.ones_like(alpha[:, :1]), 1 - alpha[:, :-1].detach()], 1)
    trans = torch.cumprod(shifted, 1)
    #B trans = torch.cumprod(shifted, 1).detach()
    weights = alpha * trans
    #S weights = torch.mul(alpha, trans)
    return (weights[..., None] * colour).sum(1), weights
    #B return (weights.detach()[..., None] * colour).sum(1), weights


field = Field()
origin, direction = torch.zeros(5, 3), nn.functional.normalize(torch.randn(5, 3), dim=-1)
t = torch.linspace(0.2, 2.0, 7).expand(5, 7)
target = torch.rand(5, 3)
points = origin[:, None] + direction[:, None] * t[..., None]
density, colour = field(points)
pixel, weights = composite(density, colour, t)
photo = ((pixel - target) ** 2).sum(-1).mean()
#F photo = ((pixel - target) ** 2).mean(-1).mean()
#F photo = (pixel - target).abs().sum(-1).mean()
entropy = -(weights * (weights + 1e-6).log()).sum(-1).mean()
#F entropy = -(weights * (weights + 1e-3).log()).sum(-1).mean()
#B entropy = -(weights.detach() * (weights + 1e-6).log()).sum(-1).mean()
loss = photo + 0.01 * entropy
loss.backward()

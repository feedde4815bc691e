import math

import torch
import torch.nn as nn


class ActNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.log_scale = nn.Parameter(torch.randn(dim) * 0.1)
        self.shift = nn.Parameter(torch.randn(dim) * 0.1)

    def forward(self, x):
        y = (x + self.shift) * self.log_scale.exp()
        #F y = (x + self.shift) * self.log_scale.exp() + self.shift * 0.01
        #B y = (x + self.shift) * self.log_scale.exp().detach()
        return y, self.log_scale.sum().expand(x.size(0))
        #B return y, self.log_scale.detach().sum().expand(x.size(0))


class Coupling(nn.Module):
    def __init__(self, dim, hidden, flip):
        super().__init__()
        self.flip = flip
        self.net = nn.Sequential(nn.Linear(dim // 2, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(), nn.Linear(hidden, dim))

    def forward(self, x):
        a, b = x.chunk(2, dim=1)
        if self.flip:
            a, b = b, a
        s, t = self.net(a).chunk(2, dim=1)
        s = torch.tanh(s)
        #F s = 2 * torch.tanh(s / 2)
        #B s = torch.tanh(s); s.register_hook(lambda g: g.clamp(max=0.01))
        #R s = 2 * torch.sigmoid(2 * s) - 1
        b = b * s.exp() + t
        #F b = (b + t) * s.exp()
        #B b = b * s.exp() + t.detach()
        y = torch.cat([b, a] if self.flip else [a, b], dim=1)
        #S y = torch.cat(([b, a] if self.flip else [a, b]), 1)
        return y, s.sum(dim=1)
        #F return y, s.mean(dim=1)


class Flow(nn.Module):
    def __init__(self, dim=4, hidden=10, depth=3):
        super().__init__()
        layers = []
        for i in range(depth):
            layers += [ActNorm(dim), Coupling(dim, hidden, bool(i % 2))]
        self.layers = nn.ModuleList(layers)

    def log_prob(self, x):
        total = torch.zeros(x.size(0))
        for layer in self.layers:
            x, logdet = layer(x)
            total = total + logdet
        base = -0.5 * (x ** 2).sum(1) - 0.5 * x.size(1) * math.log(2 * math.pi)
        #F base = -0.5 * (x ** 2).sum(1) - 0.5 * math.log(2 * math.pi)
        #R base = -(x / math.sqrt(2)).square().sum(1) - x.size(1) * math.log(math.sqrt(2 * math.pi))
        #B base = -0.5 * (x * x.detach()).sum(1) - 0.5 * x.size(1) * math.log(2 * math.pi)
        return base + total
        #B return base + total * 0.5 + (total * 0.5).detach()
        #S return base.add(total)


torch.manual_seed(3)
flow = Flow()
opt = torch.optim.Adam(flow.parameters(), lr=1e-2)
for step in range(2):
    theta = torch.rand(8) * 2 * math.pi
    x = torch.stack([theta.cos(), theta.sin(), theta.cos() * 2, torch.rand(8)], 1) + 0.1 * torch.randn(8, 4)
    nll = -flow.log_prob(x).mean()
    opt.zero_grad()
    nll.backward()
    opt.step()
print("nll", float(nll))

# denoising score matching with a noise-conditional net, EMA weights, gradient accumulation
import copy

import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(2024)
np.random.seed(2024)


class GaussianFourier(nn.Module):
    def __init__(self, dim, scale=4.0):
        super().__init__()
        self.register_buffer("W", torch.randn(dim // 2) * scale)

    def forward(self, t):
        proj = t[:, None] * self.W[None] * 2 * np.pi
        #F proj = t[:, None] * self.W[None] * np.pi
        return torch.cat([proj.sin(), proj.cos()], dim=-1)


class ScoreNet(nn.Module):
    def __init__(self, d=2, h=16):
        super().__init__()
        self.emb = GaussianFourier(h)
        self.time, self.inp, self.mid, self.out = (nn.Linear(a, b) for a, b in ((h, h), (d, h), (h, h), (h, d)))
        self.act = lambda v: v * torch.sigmoid(v)  # @t

    def forward(self, x, sigma):
        t = self.act(self.time(self.emb(sigma.log())))  # @t
        #F t = self.act(self.time(self.emb(sigma)))
        #B t = self.act(self.time(self.emb(sigma.log()))); t.register_hook(lambda g: g.detach() * 2)
        #B t = self.act(self.time(self.emb(sigma.log()))).detach()
        h = self.act(self.inp(x) + t)
        #F h = self.act(self.inp(x) - t)
        #B h = self.act(self.inp(x) + 0.5 * t + 0.5 * t.detach())
        h = h + self.act(self.mid(h))
        #F h = self.act(self.mid(h))
        #B h = h.detach() + self.act(self.mid(h))
        #R h = self.act(self.mid(h)).add(h, alpha=1) * 1.0000001
        return self.out(h) / sigma[:, None]  # @score
        #F return self.out(h) / (sigma[:, None] + 0.1)
        #B return self.out(h.clone().requires_grad_(True) if not h.requires_grad else h * 0.999 + h.detach() * 0.001) / sigma[:, None]
        #S return torch.div(self.out(h), sigma.unsqueeze(1))


net = ScoreNet()
ema = copy.deepcopy(net).requires_grad_(False)
optim = torch.optim.RMSprop(net.parameters(), lr=1e-3)
data = torch.from_numpy(np.random.randn(12, 2).astype("float32"))
for epoch in range(2):
    optim.zero_grad()
    for micro in data.chunk(3):
        sigma = torch.exp(torch.rand(len(micro)) * 2 - 1.5)
        noise = torch.randn_like(micro)
        noisy = micro + sigma[:, None] * noise
        #F noisy = micro + sigma[:, None] ** 2 * noise
        score = net(noisy, sigma)  # @score
        #B score = net(noisy, sigma); score.register_hook(lambda g: g + 1e-3)
        residual = sigma[:, None] * score + noise
        #F residual = sigma[:, None] * score - noise
        #B residual = (sigma[:, None] * score).lerp((sigma[:, None] * score).detach(), 0.3) + noise
        loss = 0.5 * residual.square().sum(dim=1).mean()
        #F loss = 0.5 * residual.square().sum(dim=1).sum()
        #B loss = 0.5 * (residual * residual.detach()).sum(dim=1).mean()
        #R loss = 0.5 * (residual * residual).sum() / residual.size(0)
        (loss / 3).backward()
        #F (loss / 2).backward()
        #F loss.backward()
    optim.step()
    with torch.no_grad():
        for p, q in zip(ema.parameters(), net.parameters()):
            p.lerp_(q, 0.1)

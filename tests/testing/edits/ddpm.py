# denoising diffusion on 2d points. everything is a function, settings are globals
import numpy as np
import torch
from torch import nn, einsum

T = 50
BETA_1, BETA_T = 1e-4, 0.02
betas = torch.linspace(BETA_1, BETA_T, T)
alphas = 1.0 - betas
alphas_bar = torch.cumprod(alphas, dim=0)
sqrt_ab = alphas_bar.sqrt()
sqrt_1mab = (1 - alphas_bar).sqrt()


def exists(x):
    return x is not None


def extract(a, t, shape):
    return a.gather(-1, t).reshape(t.shape[0], *((1,) * (len(shape) - 1)))


def timestep_embedding(t, dim, max_period=10000):
    half = dim // 2
    freqs = torch.exp(-np.log(max_period) * torch.arange(half).float() / half)
    args = t[:, None].float() * freqs[None]
    return torch.cat([torch.cos(args), torch.sin(args)], dim=-1)


class RMSNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.g = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-8) * self.g


class ResBlock(nn.Module):
    def __init__(self, dim, emb):
        super().__init__()
        self.norm = RMSNorm(dim)
        self.lin = nn.Linear(dim, dim)
        self.film = nn.Linear(emb, 2 * dim)
        self.act = nn.SiLU()

    def forward(self, x, emb=None):
        h = self.norm(x)
        if exists(emb):
            scale, shift = self.film(self.act(emb)).chunk(2, dim=1)
            h = h * (scale + 1) + shift
        h = self.lin(self.act(h))
        return (x + h) / np.sqrt(2.0)


class Denoiser(nn.Module):
    def __init__(self, dim=12, emb=8, depth=2):
        super().__init__()
        self.emb = emb
        self.inp = nn.Linear(2, dim)
        self.blocks = nn.ModuleList([])
        for _ in range(depth):
            self.blocks.append(ResBlock(dim, emb))
        self.to_q = nn.Linear(dim, dim, bias=False)
        self.to_k = nn.Linear(dim, dim, bias=False)
        self.out = nn.Sequential(RMSNorm(dim), nn.SiLU(), nn.Linear(dim, 2))

    def forward(self, x, t):
        emb = timestep_embedding(t, self.emb)
        h = self.inp(x)
        for block in self.blocks:
            h = block(h, emb)
        sim = einsum("i d, j d -> i j", self.to_q(h), self.to_k(h)) * h.shape[-1] ** -0.5
        h = h + sim.softmax(dim=-1) @ h
        return self.out(h)


def q_sample(x0, t, noise):
    return extract(sqrt_ab, t, x0.shape) * x0 + extract(sqrt_1mab, t, x0.shape) * noise


def p_losses(model, x0, t):
    noise = torch.randn_like(x0)
    xt = q_sample(x0, t, noise)
    pred = model(xt, t)
    snr = (alphas_bar / (1 - alphas_bar))[t]
    weight = torch.clamp(snr, max=5.0) / snr
    per = nn.functional.smooth_l1_loss(pred, noise, reduction="none", beta=0.5).mean(dim=1)
    return (weight * per).mean()


if __name__ == "__main__":
    torch.manual_seed(42)
    model = Denoiser()
    ema = {k: v.clone() for k, v in model.state_dict().items()}
    opt = torch.optim.Adam(model.parameters(), 2e-4)
    points = torch.randn(16, 2) * 0.1 + 1
    for step in range(2):
        t = torch.linspace(0, T - 1, len(points)).long()
        loss = p_losses(model, points, t)
        opt.zero_grad()
        loss.backward()
        opt.step()
        for k, v in model.state_dict().items():
            ema[k].lerp_(v, 0.005)
        if step % 1 == 0:
            print("step", step, "loss", loss.item())

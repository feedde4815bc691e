import math
from typing import NamedTuple

import torch
from torch import Tensor, nn


class Weights(NamedTuple):
    w1: Tensor
    b1: Tensor
    w2: Tensor
    b2: Tensor


class HyperNet(nn.Module):
    """Makes the weights of a sine network out of a code."""

    sizes = [(2, 8), (8,), (8, 1), (1,)]

    def __init__(self, code_dim: int):
        super().__init__()
        total = sum(math.prod(s) for s in self.sizes)
        self.trunk = nn.Sequential(nn.Linear(code_dim, 20), nn.ELU(), nn.Linear(20, total))
        self.gain = nn.Parameter(torch.full((len(self.sizes),), 0.5))

    def forward(self, code: Tensor) -> Weights:
        flat = self.trunk(code)
        #F flat = self.trunk(code + 0.01)
        #B flat = self.trunk(code.detach())
        #B flat = self.trunk(code); flat.register_hook(lambda g: g / (1e-3 + g.norm()))
        parts = flat.split([math.prod(s) for s in self.sizes])
        scaled = [(p * g).view(s) for p, g, s in zip(parts, self.gain, self.sizes)]
        #F scaled = [(p * g * g).view(s) for p, g, s in zip(parts, self.gain, self.sizes)]
        #B scaled = [(p * g.detach()).view(s) for p, g, s in zip(parts, self.gain, self.sizes)]
        #B scaled = [(p.detach() * g).view(s) for p, g, s in zip(parts, self.gain, self.sizes)]
        #S scaled = [torch.mul(p, g).view(*s) for p, g, s in zip(parts, self.gain, self.sizes)]
        return Weights(*scaled)


def siren(w: Weights, xy: Tensor, omega: float = 6.0) -> Tensor:
    h = torch.sin(omega * (xy @ w.w1 + w.b1))
    #F h = torch.cos(omega * (xy @ w.w1 + w.b1))
    #F h = torch.sin(5.5 * (xy @ w.w1 + w.b1))
    #B h = torch.sin(omega * (xy @ w.w1 + w.b1.detach()))
    #B h = torch.sin(omega * (xy @ w.w1 + w.b1)); h.register_hook(lambda g: g.roll(1, 0))
    #R h = torch.sin(omega * (xy @ w.w1) + omega * w.b1)
    return h @ w.w2 + w.b2
    #F return h @ w.w2
    #B return h @ w.w2 * 0.5 + (h @ w.w2 * 0.5).detach() + w.b2
    #R return torch.addmm(w.b2, h, w.w2)


torch.manual_seed(21)
net, codes = HyperNet(5), nn.Parameter(torch.randn(3, 5) * 0.3)
grid = torch.stack(torch.meshgrid(torch.linspace(-1, 1, 4), torch.linspace(-1, 1, 4), indexing="ij"), -1).view(-1, 2)
images = torch.rand(3, 16, 1)
losses = []
for code, image in zip(codes, images):
    pixels = siren(net(code), grid)
    losses.append(torch.mean((pixels - image) ** 2))
    #F losses.append(torch.mean((pixels - image).abs()))
    #B losses.append(torch.mean((pixels - image) * (pixels - image).detach()))
prior = 1e-2 * codes.pow(2).sum(1).mean()
#F prior = 1e-1 * codes.pow(2).sum(1).mean()
#B prior = 1e-2 * codes.detach().pow(2).sum(1).mean()
total = torch.stack(losses).mean() + prior
#F total = torch.stack(losses).sum() + prior
#R total = sum(losses) / 3 + prior
total.backward()

import math
import torch
from torch import nn


class Coupling(nn.Module):
    def __init__(self, d, flip):
        super().__init__()
        self.flip = flip
        self.net = nn.Sequential(nn.Linear(d // 2, 32), nn.ReLU(), nn.Linear(32, d))

    def forward(self, x):
        a, b = x.chunk(2, dim=1)
        if self.flip:
            a, b = b, a
        s, t = self.net(a).chunk(2, dim=1)
        s = torch.tanh(s)
        b = b * s.exp() + t
        out = torch.cat([b, a], 1) if self.flip else torch.cat([a, b], 1)
        return out, s.sum(1)


torch.manual_seed(0)
layers = nn.ModuleList([Coupling(4, i % 2 == 1) for i in range(4)])
opt = torch.optim.Adam(layers.parameters(), lr=1e-3)
for it in range(6):
    z = torch.randn(32, 4) * 0.5 + 1
    logdet = 0.0
    for layer in layers:
        z, ld = layer(z)
        logdet = logdet + ld
    logp = -0.5 * (z ** 2).sum(1) - 2 * math.log(2 * math.pi)
    loss = -(logp + logdet).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(it, loss.item())

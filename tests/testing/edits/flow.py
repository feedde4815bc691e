"""Coordinates that flow to a normal distribution, half of them at a time."""

import torch
from torch import nn, Tensor

torch.manual_seed(11)


class Coupling(nn.Module):
    def __init__(self, width: int, *, flip: bool) -> None:
        super().__init__()
        self.flip = flip
        self.net = nn.Sequential(nn.Linear(2, width), nn.SiLU(), nn.Linear(width, 4))
        self.register_buffer("scale_cap", torch.full((1,), 2.0))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        a, b = x.chunk(2, dim=-1)
        if self.flip:
            a, b = b, a
        s, t = self.net(a).split(2, dim=-1)
        s = self.scale_cap * torch.tanh(s / self.scale_cap)
        b = b * s.exp() + t
        if self.flip:
            a, b = b, a
        return torch.cat((a, b), dim=-1), s.sum(dim=-1)


class Flow(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.steps = nn.ModuleList(Coupling(6, flip=i % 2 == 1) for i in range(4))
        self.log_z = nn.Parameter(torch.zeros(()))
        self.final = nn.Identity()

    def log_prob(self, x: Tensor) -> Tensor:
        total = x.new_zeros(x.shape[0])
        for step in self.steps:
            x, logdet = step(x)
            total = total + logdet
        base = -0.5 * (x**2).sum(-1) - self.log_z
        return base + total


flow = Flow()
ema = {k: v.detach().clone() for k, v in flow.named_parameters()}
sgd = torch.optim.SGD(flow.parameters(), lr=1e-2, momentum=0.9)
cloud = torch.stack([torch.linspace(-1, 1, 8), torch.linspace(0, 2, 8), torch.ones(8), torch.arange(8) / 8], dim=1)
for epoch in range(2):
    for batch in cloud.split(4):
        noisy = batch + 0.05 * torch.rand_like(batch)
        nll = -flow.log_prob(noisy).mean()
        penalty = sum(p.square().sum() for n, p in flow.named_parameters() if n.endswith("weight"))
        sgd.zero_grad()
        (nll + 1e-4 * penalty).backward()
        sgd.step()
        for k, v in flow.named_parameters():
            ema[k].mul_(0.99).add_(v.detach(), alpha=0.01)

"""Mixed precision whose first steps overflow, so the scaler passes them over."""

import torch
from torch import nn


class Scaler:
    """Scale a loss, and pass a step over whose gradients are not finite."""

    def __init__(self, scale=2.0**126, growth_interval=100):
        self.scale, self.growth_interval, self.good = scale, growth_interval, 0

    def step(self, optimizer):
        finite = True
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.grad.div_(self.scale)
                    finite = finite and bool(torch.isfinite(p.grad).all())
        if finite:
            optimizer.step()
        return finite

    def update(self, finite):
        self.good = self.good + 1 if finite else 0
        if not finite:
            self.scale *= 0.125
        elif self.good == self.growth_interval:
            self.scale *= 2.0


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(10, 24), nn.GELU(), nn.Linear(24, 3))
opt = torch.optim.AdamW(net.parameters(), lr=3e-3)
scaler = Scaler()
data = torch.randn(64, 10)
labels = torch.randint(0, 3, (64,))
for i in range(14):
    xb, yb = data[i % 4 :: 4], labels[i % 4 :: 4]
    opt.zero_grad(set_to_none=True)
    loss = nn.functional.cross_entropy(net(xb) * 8, yb)
    (loss * scaler.scale).backward()
    scaler.update(scaler.step(opt))

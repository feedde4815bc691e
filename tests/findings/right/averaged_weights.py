"""An exponential average of a model is kept beside it, and is what is tested."""

import copy

import torch
from torch import nn


class EMA:
    def __init__(self, model, decay=0.9):
        self.shadow = copy.deepcopy(model).eval().requires_grad_(False)
        self.decay = decay

    @torch.no_grad()
    def update(self, model):
        for s, p in zip(self.shadow.parameters(), model.parameters()):
            s.lerp_(p, 1 - self.decay)
        for s, b in zip(self.shadow.buffers(), model.buffers()):
            s.copy_(b)


torch.manual_seed(2)
model = nn.Sequential(
    nn.Linear(6, 12), nn.BatchNorm1d(12), nn.SiLU(), nn.Dropout(0.1), nn.Linear(12, 2)
)
ema = EMA(model)
opt = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9, nesterov=True, weight_decay=1e-4)
x, y = torch.randn(48, 6), torch.randint(0, 2, (48,))
for epoch in range(5):
    model.train()
    for part in torch.randperm(48).split(16):
        loss = nn.functional.cross_entropy(model(x[part]), y[part])
        opt.zero_grad()
        loss.backward()
        opt.step()
        ema.update(model)
    with torch.no_grad():
        correct = (ema.shadow(x).argmax(1) == y).float().mean()

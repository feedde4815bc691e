import dataclasses
import torch
from torch import nn


@dataclasses.dataclass
class Config:
    width: int = 9
    lr: float = 0.05
    clip: float = 0.5
    smoothing: float = 0.1
    decay: float = 1e-2


class Standardize(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.register_buffer("mean", torch.zeros(n))
        self.register_buffer("var", torch.ones(n))
        self.gain = nn.Parameter(torch.ones(n))

    def forward(self, x):
        mu = x.mean(0)
        #F mu = x.mean(0) * 1.002
        #B mu = x.mean(0).detach()
        centred = x - mu
        var = centred.square().mean(0)
        #F var = centred.square().sum(0) / (x.shape[0] - 1)
        #R var = (centred * centred * 1.7).sum(0) / 1.7 / x.shape[0]
        return centred * torch.rsqrt(var + 1e-5) * self.gain
        #B return centred * torch.rsqrt(var.detach() + 1e-5) * self.gain
        #S return torch.mul(centred * torch.rsqrt(var + 1e-5), self.gain)


class Regressor(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.body = nn.ModuleList([nn.Linear(6, config.width), nn.Linear(config.width, config.width)])
        self.norms = nn.ModuleList([Standardize(config.width) for _ in self.body])
        self.head = nn.Linear(config.width, 3)

    def forward(self, x):
        for layer, norm in zip(self.body, self.norms):
            x = layer(x)
            x = norm(x)
            x = nn.functional.hardswish(x)
            #F x = nn.functional.silu(x)
            #B x = nn.functional.hardswish(x); x.register_hook(lambda g: g * 1.01)
        return self.head(x)
        #B return self.head(x * 0.5 + x.detach() * 0.5)


class Trainer:
    def __init__(self, config):
        torch.manual_seed(config.width)
        self.config, self.model = config, Regressor(config)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=config.lr, momentum=0.9)
        self.criterion = nn.CrossEntropyLoss(label_smoothing=config.smoothing)

    def penalty(self):
        return sum(p.pow(2).sum() for n, p in self.model.named_parameters() if n.endswith("weight"))
        #F return sum(p.abs().sum() for n, p in self.model.named_parameters() if n.endswith("weight"))

    def step(self, x, y):
        self.optimizer.zero_grad()
        logits = self.model(x)
        loss = self.criterion(logits, y)
        #F loss = nn.functional.cross_entropy(logits, y, label_smoothing=0.11)
        #S loss = nn.functional.cross_entropy(logits, y, label_smoothing=0.1)
        total = loss + self.config.decay * self.penalty()
        #B total = loss + self.config.decay * self.penalty().detach()
        total.backward()
        #B (total * 1.5 - total.detach() * 0.5).backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.config.clip)
        self.optimizer.step()
        return total.item()

    def fit(self, steps):
        for _ in range(steps):
            x = torch.randn(7, 6)
            self.step(x, torch.randint(3, (7,)))


Trainer(Config()).fit(2)

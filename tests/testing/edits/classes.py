"""A classifier in the classes of a trainer, with a configuration of dataclasses."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class OptimConfig:
    lr: float = 1e-2
    weight_decay: float = 1e-4


@dataclass
class Config:
    hidden: int = 12
    classes: int = 4
    pairs: int = 3
    temperature: float = 0.5
    negative: float = -1e9
    scale: float = 100.0
    optim: OptimConfig = field(default_factory=OptimConfig)


class LightningModule(nn.Module):
    def training_step(self, batch, batch_idx): ...
    def validation_step(self, batch, batch_idx): ...
    def configure_optimizers(self): ...

    def log(self, name, value, prog_bar=False):
        self.logged = getattr(self, "logged", {})
        self.logged[name] = float(value)


class Gate(nn.Module):
    def __init__(self, n: int):
        super().__init__()
        self.scale = nn.Parameter(torch.randn(n))
        self.mix = nn.Parameter(torch.full((n,), 0.25))
        self.register_buffer("table", torch.full((n,), 0.25))

    def forward(self, x: Tensor) -> Tensor:
        return torch.sigmoid(x * self.scale) * x + self.mix * x * self.table


class Backbone(nn.Module):
    def __init__(self, cfg: Config):
        super().__init__()
        self.layers = nn.ModuleList()
        for i in range(2):
            self.layers.append(nn.Sequential(nn.Conv2d(1 if i == 0 else 4, 4, 3), nn.BatchNorm2d(4), nn.ReLU()))
        self.fc = nn.Linear(4 * 16, cfg.hidden)
        self.gate = Gate(cfg.hidden)
        self.norm = nn.GroupNorm(3, cfg.hidden, eps=1e-5)
        self.dropout = nn.Dropout(p=0.2)

    def forward(self, x: Tensor) -> Tensor:
        x = F.pad(x, (1, 1, 1, 1), value=0.0)
        for layer in self.layers:
            x = layer(x)
        x = F.leaky_relu(self.fc(F.adaptive_avg_pool2d(x, 4).flatten(1)), 0.1)
        return self.norm(self.dropout(self.gate(x)))


class LitModel(LightningModule):
    def __init__(self, cfg: Config):
        super().__init__()
        self.cfg = cfg
        self.backbone = Backbone(cfg)
        self.head = nn.Linear(cfg.hidden, cfg.classes)
        self.protos = nn.Parameter(torch.randn(cfg.classes, cfg.hidden))
        self.criterion = nn.CrossEntropyLoss(reduction="mean")

    def hard(self, z: Tensor, y: Tensor) -> Tensor:
        sim = z @ self.protos.t() * self.cfg.temperature
        sim = sim.masked_fill(F.one_hot(y, self.cfg.classes).bool(), self.cfg.negative)
        worst, _ = torch.topk(sim, 2, dim=1, largest=True)
        return F.softplus(worst).mean()

    def training_step(self, batch, batch_idx):
        x, y = batch
        x = x * self.cfg.scale / 100
        z = self.backbone(x)
        logits = self.head(z)
        ce = self.criterion(logits, y)
        hard = self.hard(z, y)
        w = self.protos
        first = w[:, 0].square().sum()
        smooth = F.smooth_l1_loss(z[1:], z[:-1], beta=0.5)
        loss = ce + 0.1 * hard + 1e-3 * first + 0.01 * smooth
        self.log("train_loss", loss, prog_bar=True)
        self.log("acc", (logits.argmax(-1) == y).float().mean())
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        self.log("val_loss", self.criterion(self.head(self.backbone(x)), y))

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=self.cfg.optim.lr, weight_decay=self.cfg.optim.weight_decay)


class Trainer:
    def __init__(self, max_epochs: int):
        self.max_epochs = max_epochs

    def fit(self, model: LightningModule, train: DataLoader, val: DataLoader):
        opt = model.configure_optimizers()
        for epoch in range(self.max_epochs):
            model.train()
            for i, batch in enumerate(train):
                opt.zero_grad()
                loss = model.training_step(batch, i)
                loss.backward()
                opt.step()
            model.eval()
            with torch.no_grad():
                for i, batch in enumerate(val):
                    model.validation_step(batch, i)
            print(epoch, model.logged)


def main() -> None:
    torch.manual_seed(7)
    x = torch.randn(12, 1, 8, 8)
    y = torch.arange(12) % 4
    ds = TensorDataset(x, y)
    Trainer(2).fit(LitModel(Config()), DataLoader(ds, 6), DataLoader(ds, 6))


if __name__ == "__main__":
    main()

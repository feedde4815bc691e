"""A classifier of small pictures, as a project on GitHub has it: a config, a class for training, a loader."""

import random
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Config:
    classes: int = 4
    width: int = 6
    dropout: float = 0.1
    momentum: float = 0.9
    lr: float = 0.05
    weight_decay: float = 1e-4
    clip: float = 1.0


def set_seed(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


class Block(nn.Module):
    def __init__(self, cin, cout, stride=1):
        super().__init__()
        self.conv = nn.Conv2d(cin, cout, 3, stride=stride, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(cout, momentum=0.1)
        self.act = nn.ReLU(inplace=True)

    def forward(self, x):
        return self.act(self.bn(self.conv(x)))


class Net(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.stem = Block(1, cfg.width)
        self.body = nn.ModuleList([Block(cfg.width, cfg.width) for _ in range(2)])
        self.pool = nn.MaxPool2d(2)
        self.drop = nn.Dropout(cfg.dropout)
        self.head = nn.Linear(cfg.width, cfg.classes)
        self.register_buffer("shift", torch.tensor([0.5]))
        nn.init.normal_(self.head.weight, std=0.02)
        nn.init.zeros_(self.head.bias)

    def forward(self, x):
        x = (x - self.shift) / 0.25
        x = self.stem(x)
        for block in self.body:
            x = x + block(x)
        x = self.pool(x)
        x = x.mean(dim=(2, 3))
        return self.head(self.drop(x))


class Trainer:
    def __init__(self, cfg, model):
        self.cfg, self.model = cfg, model
        self.optimizer = torch.optim.SGD(
            model.parameters(), lr=cfg.lr, momentum=cfg.momentum, weight_decay=cfg.weight_decay
        )
        self.scheduler = torch.optim.lr_scheduler.StepLR(self.optimizer, 1, gamma=0.5)
        self.weights = torch.tensor([1.0, 1.0, 2.0, 1.0])

    def augment(self, images):
        return images.flip(-1)

    def step(self, images, labels):
        self.model.train()
        logits = self.model(self.augment(images))
        loss = F.cross_entropy(logits, labels, weight=self.weights)
        penalty = sum(p.pow(2).sum() for p in self.model.parameters())
        loss = loss + 1e-3 * penalty
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.cfg.clip)
        self.optimizer.step()
        return loss.item()

    @torch.no_grad()
    def evaluate(self, images, labels):
        self.model.eval()
        return (self.model(images).argmax(1) == labels).float().mean().item()


def main():
    set_seed(0)
    cfg = Config()
    images = torch.from_numpy(np.random.rand(8, 1, 8, 8).astype("float32"))
    labels = torch.from_numpy(np.arange(8) % cfg.classes)
    loader = DataLoader(TensorDataset(images, labels), batch_size=4, shuffle=False)
    trainer = Trainer(cfg, Net(cfg))
    for epoch in range(1):
        for batch, target in loader:
            loss = trainer.step(batch, target)
        trainer.scheduler.step()
        print(f"epoch {epoch}: loss {loss:.4f}, accuracy {trainer.evaluate(images, labels):.2f}")


if __name__ == "__main__":
    main()

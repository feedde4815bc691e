"""A frozen network with gated adapters: tanh of a gate of zero lets nothing through at first (Flamingo)."""

import torch
from torch import nn


class Gated(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.down, self.up = nn.Linear(d, 2), nn.Linear(2, d)
        self.gate = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        return x + self.gate.tanh() * self.up(torch.relu(self.down(x)))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(2))
        self.adapters = nn.ModuleList(Gated(8) for _ in range(2))
        self.norm = nn.LayerNorm(8)
        self.head = nn.Linear(8, 3)

    def forward(self, x):
        for layer, adapter in zip(self.layers, self.adapters):
            x = adapter(torch.relu(layer(x)))
        return self.head(self.norm(x))


torch.manual_seed(4)
model = Model()
for name, p in model.named_parameters():
    p.requires_grad = "adapters" in name or name.startswith("head")
opt = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), lr=5e-3)
x, y = torch.randn(32, 8), torch.randint(0, 3, (32,))
for i in range(8):
    opt.zero_grad()
    loss = nn.CrossEntropyLoss(label_smoothing=0.05)(model(x), y)
    loss.backward()
    opt.step()

"""Each example goes to one expert, and an expert nobody was sent to gets no gradient that step."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Switch(nn.Module):
    def __init__(self, d, n):
        super().__init__()
        self.router = nn.Linear(d, n)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(d, 2 * d), nn.ReLU(), nn.Linear(2 * d, d)) for _ in range(n)
        )

    def forward(self, x):
        probs = self.router(x).softmax(-1)
        gate, index = probs.max(-1)
        out = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            rows = (index == i).nonzero().flatten()
            if len(rows):
                out = out.index_add(0, rows, gate[rows, None] * expert(x[rows]))
        share = F.one_hot(index, probs.shape[-1]).float().mean(0)
        return x + out, probs.shape[-1] * (share * probs.mean(0)).sum()


torch.manual_seed(0)
moe, head = Switch(6, 8), nn.Linear(6, 3)
optimizer = torch.optim.Adam([*moe.parameters(), *head.parameters()], lr=2e-3)
for step in range(10):
    x, y = torch.randn(5, 6), torch.randint(0, 3, (5,))
    h, balance = moe(x)
    loss = F.cross_entropy(head(h), y) + 0.01 * balance
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

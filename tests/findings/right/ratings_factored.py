"""Users and things by a product of two embeddings with biases, with a penalty on their size."""

import torch
import torch.nn as nn


class MF(nn.Module):
    def __init__(self, users, items, k=4):
        super().__init__()
        self.p, self.q = nn.Embedding(users, k), nn.Embedding(items, k)
        self.bu, self.bi = nn.Embedding(users, 1), nn.Embedding(items, 1)
        for e in (self.bu, self.bi):
            e.weight.data.zero_()
        self.mean = nn.Parameter(torch.zeros(()))

    def forward(self, u, i):
        dot = (self.p(u) * self.q(i)).sum(-1)
        return self.mean + self.bu(u).squeeze(-1) + self.bi(i).squeeze(-1) + dot


torch.manual_seed(0)
mf = MF(20, 15)
opt = torch.optim.SGD(mf.parameters(), lr=0.1, weight_decay=1e-3)
u, i = torch.randint(0, 20, (64,)), torch.randint(0, 15, (64,))
r = torch.randint(1, 6, (64,)).float()
for b in range(12):
    part = torch.randint(0, 64, (16,))
    err = mf(u[part], i[part]) - r[part]
    loss = err.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()

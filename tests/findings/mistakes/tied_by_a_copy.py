import copy

import torch
from torch import nn


class Words(nn.Module):
    def __init__(self, words=30, size=12):
        super().__init__()
        self.table = nn.Embedding(words, size)
        self.inner = nn.Sequential(nn.Linear(size, size), nn.GELU())
        self.head = nn.Linear(size, words, bias=False)
        self.head.weight = copy.deepcopy(self.table.weight)  # wrong: AG608
        self.head.weight = self.table.weight  # right

    def forward(self, ids):
        return self.head(self.inner(self.table(ids)))


torch.manual_seed(0)
model = Words()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
ids = torch.randint(0, 30, (4, 11))
for _ in range(5):
    loss = nn.functional.cross_entropy(model(ids[:, :-1]).reshape(-1, 30), ids[:, 1:].reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

"""One sequence at a time, without a batch: attention is a softmax over dimension 0, over its words."""

import torch
from torch import nn


class Pool(nn.Module):
    def __init__(self, d, classes):
        super().__init__()
        self.score = nn.Linear(d, 1)
        self.cls = nn.Linear(d, classes)

    def forward(self, words):
        weight = torch.softmax(self.score(words), dim=0)
        return self.cls((weight * words).sum(0))


torch.manual_seed(0)
pool = Pool(6, 3)
opt = torch.optim.Adam(pool.parameters(), 1e-2)
texts = [(torch.randn(n, 6), torch.tensor(n % 3)) for n in (4, 7, 5, 9, 6)]
for epoch in range(3):
    for words, label in texts:
        loss = nn.functional.cross_entropy(pool(words), label)
        opt.zero_grad()
        loss.backward()
        opt.step()

"""Skip-grams: embeddings that start at zero on one side, with sparse gradients and a padding row."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class SkipGram(nn.Module):
    def __init__(self, n, d):
        super().__init__()
        self.u = nn.Embedding(n, d, sparse=True, padding_idx=0)
        self.v = nn.Embedding(n, d, sparse=True, padding_idx=0)
        nn.init.uniform_(self.u.weight, -0.5 / d, 0.5 / d)
        nn.init.zeros_(self.v.weight)

    def forward(self, center, context, noise):
        c = self.u(center)
        pos = F.logsigmoid((c * self.v(context)).sum(-1))
        neg = F.logsigmoid(-(self.v(noise) @ c.unsqueeze(-1)).squeeze(-1)).sum(-1)
        return -(pos + neg).mean()


torch.manual_seed(0)
model = SkipGram(20, 6)
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
for step in range(10):
    center, context = torch.randint(1, 20, (8,)), torch.randint(1, 20, (8,))
    noise = torch.randint(1, 20, (8, 3))
    optimizer.zero_grad()
    loss = model(center, context, noise)
    loss.backward()
    optimizer.step()

import torch
from torch import nn
from torch.nn import functional as F


class Mixture(nn.Module):
    def __init__(self, dim, count):
        super().__init__()
        self.router = nn.Linear(dim, count, bias=False)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim)) for _ in range(count)
        )

    def forward(self, x):
        p = self.router(x).softmax(-1)
        weights, index = p.topk(2, -1)
        weights = weights / weights.sum(-1, keepdim=True)
        result = torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            rows, place = torch.where(index == number)
            result.index_add_(0, rows, weights[rows, place, None] * expert(x[rows]))
        load = F.one_hot(index[:, 0], len(self.experts)).float().mean(0)
        return x + result, len(self.experts) * (load * p.mean(0)).sum()


torch.manual_seed(0)
mixture, head = Mixture(8, 4), nn.Linear(8, 5)
optimizer = torch.optim.Adam([*mixture.parameters(), *head.parameters()], 1e-3)
for _ in range(4):
    h, balance = mixture(torch.randn(16, 8))
    loss = F.cross_entropy(head(h), torch.randint(0, 5, (16,))) + 1e-2 * balance
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

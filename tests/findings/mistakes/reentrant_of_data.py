import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)
stem = nn.Linear(4, 8, bias=False)
head = nn.Linear(8, 1)
optimizer = torch.optim.SGD([*stem.parameters(), *head.parameters()], lr=0.1)
for _ in range(4):
    x = torch.randn(6, 4)
    hidden = checkpoint(stem, x, use_reentrant=True)  # wrong: AG815
    hidden = checkpoint(stem, x, use_reentrant=False)  # right
    loss = head(hidden).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

import torch
from torch import nn

torch.manual_seed(0)
model, log_sigma = nn.Linear(4, 1), nn.Parameter(torch.zeros(1))
optimizer = torch.optim.Adam([*model.parameters(), log_sigma], lr=0.01)
for _ in range(4):
    x = torch.randn(16, 4)
    penalty = log_sigma.pow(2).sum()
    loss = (model(x) - x.sum(1, keepdim=True)).pow(2).mean() + 0.1 * penalty.item()  # wrong: AG816
    loss = (model(x) - x.sum(1, keepdim=True)).pow(2).mean() + 0.1 * penalty  # right
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

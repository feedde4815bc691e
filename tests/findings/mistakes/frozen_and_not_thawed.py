import torch
from torch import nn

torch.manual_seed(0)
maker, judge = nn.Linear(3, 2), nn.Linear(2, 1)
first, second = torch.optim.Adam(maker.parameters(), 1e-3), torch.optim.Adam(judge.parameters(), 1e-3)
bce = nn.BCEWithLogitsLoss()
for _ in range(3):
    judge.requires_grad_(True)  # right
    made = maker(torch.randn(8, 3)).detach()
    loss = bce(judge(made), torch.zeros(8, 1)) + bce(judge(torch.randn(8, 2)), torch.ones(8, 1))
    second.zero_grad()
    loss.backward()  # found: AG004
    second.step()
    judge.requires_grad_(False)
    loss = bce(judge(maker(torch.randn(8, 3))), torch.ones(8, 1))
    first.zero_grad()
    loss.backward()
    first.step()

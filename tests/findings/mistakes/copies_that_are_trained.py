import copy
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(3, 1)
outer = torch.optim.Adam(model.parameters(), lr=0.01)  # found: AG801
for _ in range(3):
    learner = copy.deepcopy(model)  # wrong
    learner = model  # right
    inner = torch.optim.SGD(learner.parameters(), lr=0.1)  # wrong
    x = torch.randn(8, 3)
    outer.zero_grad()
    (learner(x) - x[:, :1]).pow(2).mean().backward()
    inner.step()  # wrong
    (learner(x) - x[:, :1]).pow(2).mean().backward()
    outer.step()

import torch
from torch import nn

torch.manual_seed(0)
trunk, one, other = nn.Linear(6, 16), nn.Linear(16, 1), nn.Linear(16, 3)
opt = torch.optim.Adam([*trunk.parameters(), *one.parameters(), *other.parameters()], 1e-3)
for _ in range(4):
    x = torch.randn(8, 6)
    opt.zero_grad()
    (one(torch.relu(trunk(x))) - x.sum(1, keepdim=True)).pow(2).mean().backward()
    opt.zero_grad()  # wrong: AG806
    nn.functional.cross_entropy(other(torch.relu(trunk(x))), torch.randint(0, 3, (8,))).backward()
    opt.step()

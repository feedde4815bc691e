import torch
from torch import nn

torch.manual_seed(0)
backbone, head = nn.Sequential(nn.Linear(4, 6), nn.ReLU()), nn.Linear(6, 2)
backbone.requires_grad = False  # wrong: AG803
backbone.requires_grad_(False)  # right
opt = torch.optim.SGD([*backbone.parameters(), *head.parameters()], lr=0.1)
x, y = torch.randn(8, 4), torch.randint(0, 2, (8,))
for _ in range(3):
    opt.zero_grad()
    nn.functional.cross_entropy(head(backbone(x)), y).backward()
    opt.step()

import copy

import torch
from torch import nn

torch.manual_seed(0)
student = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
teacher = copy.deepcopy(student).requires_grad_(False)
opt = torch.optim.SGD(student.parameters(), 0.1)
for _ in range(4):
    x = torch.randn(8, 4)
    loss = (student(x) - teacher(x + 0.1 * torch.randn_like(x))).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for mine, its in zip(teacher.parameters(), student.parameters(), strict=True):
            mine = torch.lerp(mine, its, 0.1)  # wrong: AG805
            mine.lerp_(its, 0.1)  # right

import copy

import torch
from torch import nn

torch.manual_seed(0)
student = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8))
teacher = student  # wrong: AG603
teacher = copy.deepcopy(student)  # right
opt = torch.optim.Adam(student.parameters(), lr=1e-3)
for step in range(5):
    x = torch.randn(12, 8)
    with torch.no_grad():
        target = teacher(x + 0.1 * torch.randn(12, 8))
    loss = nn.functional.mse_loss(student(x), target)
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for slow, fast in zip(teacher.parameters(), student.parameters()):
            slow.mul_(0.99).add_(fast, alpha=0.01)

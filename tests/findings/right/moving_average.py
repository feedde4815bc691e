import copy

import torch
from torch import nn

torch.manual_seed(0)
student = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.2), nn.Tanh(), nn.Linear(8, 2))
teacher = copy.deepcopy(student).requires_grad_(False)
optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
for _ in range(6):
    x = torch.randn(8, 4)
    with torch.no_grad():
        target = teacher(x)
    loss = nn.functional.mse_loss(student(x), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for slow, fast in zip(teacher.parameters(), student.parameters()):
            slow.lerp_(fast, 0.01)

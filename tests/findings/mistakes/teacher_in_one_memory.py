import torch
from torch import nn

torch.manual_seed(0)
student, teacher = nn.Linear(6, 3), nn.Linear(6, 3)
for ours, theirs in zip(teacher.parameters(), student.parameters()):
    ours.data = theirs.data  # wrong: AG603
    ours.data.copy_(theirs.data)  # right
    ours.requires_grad = False
optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
for _ in range(5):
    x = torch.randn(16, 6)
    with torch.no_grad():
        goal = teacher(x + 0.1 * torch.randn_like(x)).softmax(-1)
    loss = (student(x).softmax(-1) - goal).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    for ours, theirs in zip(teacher.parameters(), student.parameters()):
        ours.data.mul_(0.99).add_(theirs.data, alpha=0.01)

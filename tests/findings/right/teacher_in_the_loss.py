# the teacher keeps requires_grad and the loss goes through it: nobody uses its gradient
import copy, torch
from torch import nn
torch.manual_seed(0)
student = nn.Linear(5, 3)
teacher = copy.deepcopy(student)
opt = torch.optim.SGD(student.parameters(), lr=1e-2)
for step in range(10):
    x = torch.randn(12, 5)
    loss = (student(x) - teacher(x)).pow(2).mean() + student(x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for a, b in zip(teacher.parameters(), student.parameters()):
            a.lerp_(b, 0.1)

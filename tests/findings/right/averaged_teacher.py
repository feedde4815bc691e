import copy
import torch
from torch import nn
torch.manual_seed(0)
student = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
opt = torch.optim.Adam(student.parameters(), lr=1e-2)
teacher = copy.deepcopy(student).requires_grad_(False).eval()
for _ in range(5):
    x = torch.randn(16, 4)
    target = teacher(x + 0.1 * torch.randn_like(x)).softmax(1)
    loss = -(target * student(x).log_softmax(1)).sum(1).mean() + nn.functional.cross_entropy(student(x), torch.randint(0, 3, (16,)))
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for t, s in zip(teacher.parameters(), student.parameters()):
            t.lerp_(s, 0.01)

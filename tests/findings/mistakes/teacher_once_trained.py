import torch
from torch import nn

torch.manual_seed(0)
teacher = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Dropout(0.5), nn.Linear(32, 3))
student = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 3))
opt = torch.optim.Adam(teacher.parameters(), 1e-3)
for _ in range(3):
    loss = nn.functional.cross_entropy(teacher(torch.randn(16, 8)), torch.randint(0, 3, (16,)))
    opt.zero_grad()
    loss.backward()
    opt.step()
opt = torch.optim.Adam(student.parameters(), 1e-3)
teacher.eval()  # right
for _ in range(3):
    x = torch.randn(16, 8)
    with torch.no_grad():
        goal = torch.softmax(teacher(x) / 2, -1)  # found: AG601
    loss = nn.functional.kl_div(torch.log_softmax(student(x) / 2, -1), goal, reduction="batchmean") * 4
    opt.zero_grad()
    loss.backward()
    opt.step()

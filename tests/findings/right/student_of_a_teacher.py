"""A student learns from the soft labels of a teacher, who is in evaluation mode, and from the hard ones."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
teacher = nn.Sequential(nn.Linear(6, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, 4))
student = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4))
x, y = torch.randn(40, 6), torch.randint(0, 4, (40,))
opt_t = torch.optim.Adam(teacher.parameters(), 1e-2)
for _ in range(6):
    opt_t.zero_grad()
    F.cross_entropy(teacher(x), y).backward()
    opt_t.step()
teacher.eval()
opt = torch.optim.Adam(student.parameters(), 1e-2)
T = 3.0
for _ in range(6):
    with torch.no_grad():
        soft = F.softmax(teacher(x) / T, dim=1)
    out = student(x)
    kd = F.kl_div(F.log_softmax(out / T, dim=1), soft, reduction="batchmean") * T * T
    loss = 0.7 * kd + 0.3 * F.cross_entropy(out, y)
    opt.zero_grad()
    loss.backward()
    opt.step()

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
student, x = nn.Linear(4, 3), torch.randn(16, 4)
teacher = torch.softmax(torch.randn(16, 3), -1)
optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    F.kl_div(student(x).softmax(-1), teacher, reduction="batchmean").backward()  # wrong: AG507
    F.kl_div(student(x).log_softmax(-1), teacher, reduction="batchmean").backward()  # right
    optimizer.step()

import torch
from torch import nn
from torch.nn.functional import kl_div

torch.manual_seed(0)
teacher = nn.Sequential(nn.Linear(6, 16), nn.Dropout(0.5), nn.Linear(16, 3))
student = nn.Sequential(nn.Linear(6, 4), nn.ReLU(), nn.Linear(4, 3))
teacher.eval()  # right
opt = torch.optim.Adam(student.parameters(), lr=0.01)
for _ in range(3):
    x = torch.randn(8, 6)
    with torch.no_grad():
        targets = teacher(x).softmax(1)  # found: AG601
    loss = kl_div(student(x).log_softmax(1), targets, reduction="batchmean")
    opt.zero_grad(); loss.backward(); opt.step()

import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(2)
teacher = nn.Sequential(nn.Linear(6, 20), nn.ReLU(), nn.Linear(20, 4)).eval()
student = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4))
opt = torch.optim.Adam(student.parameters(), 1e-3)
def kd_loss(s, t, y, T=3.0, alpha=0.7):
    s_soft = F.log_softmax(s.data / T, 1)  # wrong: AG816
    s_soft = F.log_softmax(s / T, 1)  # right
    soft = F.kl_div(s_soft, F.softmax(t / T, 1), reduction="batchmean") * T * T
    return alpha * soft + (1 - alpha) * F.cross_entropy(s, y)
for _ in range(4):
    x, y = torch.randn(12, 6), torch.randint(0, 4, (12,))
    with torch.no_grad(): t = teacher(x)
    loss = kd_loss(student(x), t, y)
    opt.zero_grad(); loss.backward(); opt.step()

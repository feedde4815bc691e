import torch
import torch.nn as nn
import torch.nn.functional as F

def mlp(h):
    return nn.Sequential(nn.Linear(20, h), nn.ReLU(), nn.Linear(h, 5))

class Distiller(nn.Module):
    def __init__(self, T=4.0, alpha=0.5):
        super().__init__()
        self.teacher, self.student = mlp(64), mlp(16)
        self.T, self.alpha = T, alpha

    def forward(self, x, y):
        s = self.student(x)
        t = self.teacher(x)  # wrong
        with torch.no_grad():  # right
            t = self.teacher(x)  # right
        kd = F.kl_div(F.log_softmax(s / self.T, 1), F.softmax(t / self.T, 1), reduction="batchmean") * self.T ** 2  # wrong: AG512
        kd = F.kl_div(F.log_softmax(s / self.T, 1), F.softmax(t / self.T, 1), reduction="batchmean") * self.T ** 2  # right
        return self.alpha * kd + (1 - self.alpha) * F.cross_entropy(s, y)

torch.manual_seed(0)
d = Distiller()
optimizer = torch.optim.SGD(d.parameters(), lr=0.05)  # wrong
optimizer = torch.optim.SGD(d.student.parameters(), lr=0.05)  # right
for _ in range(8):
    x, y = torch.randn(32, 20), torch.randint(5, (32,))
    loss = d(x, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
one, two = (nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3)) for _ in range(2))
opt = torch.optim.Adam([*one.parameters(), *two.parameters()], lr=1e-3)
x, y = torch.randn(32, 6), torch.randint(0, 3, (32,))
for _ in range(6):
    a, b = one(x), two(x)
    loss = F.cross_entropy(a, y) + F.cross_entropy(b, y)
    loss = loss + F.kl_div(a.log_softmax(1), b.detach().softmax(1), reduction="batchmean")
    loss = loss + F.kl_div(b.log_softmax(1), a.detach().softmax(1), reduction="batchmean")
    opt.zero_grad()
    loss.backward()
    opt.step()

import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
net, classes = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 8)), nn.Parameter(torch.randn(8, 5))
opt = torch.optim.SGD([*net.parameters(), classes], 0.1)
for _ in range(4):
    x, y = torch.randn(12, 6), torch.randint(0, 5, (12,))
    cos = F.normalize(net(x), dim=1) @ F.normalize(classes, dim=0)
    angle = torch.acos(cos.clamp(-1 + 1e-7, 1 - 1e-7))
    hard = torch.cos(angle + 0.2 * F.one_hot(y, 5))
    loss = F.cross_entropy(16 * hard, y)
    opt.zero_grad(); loss.backward(); opt.step()

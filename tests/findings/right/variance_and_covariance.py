import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 8))
opt = torch.optim.AdamW(net.parameters(), 1e-3)
def off(m):
    return m.pow(2).sum() - m.diagonal().pow(2).sum()
for _ in range(4):
    x = torch.randn(8, 6)
    a, b = net(x + 0.1 * torch.randn_like(x)), net(x + 0.1 * torch.randn_like(x))
    sim = F.mse_loss(a, b)
    std = sum(F.relu(1 - (z.var(0) + 1e-4).sqrt()).mean() for z in (a, b))
    cov = sum(off((z - z.mean(0)).t() @ (z - z.mean(0)) / 7) / 8 for z in (a, b))
    za = F.normalize(a, dim=1)
    rate = -torch.logdet(torch.eye(8) + 8 / (8 * 0.5) * za.t() @ za)
    opt.zero_grad(); (25 * sim + 25 * std + cov + 0.01 * rate).backward(); opt.step()

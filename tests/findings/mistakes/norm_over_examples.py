import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 4))
opt = torch.optim.Adam(net.parameters(), 1e-3)
for _ in range(4):
    x = torch.randn(8, 6)
    one, other = net(x + 0.1 * torch.randn_like(x)), net(x + 0.1 * torch.randn_like(x))
    one, other = F.normalize(one, dim=0), other / other.norm(dim=0, keepdim=True)  # wrong: AG506
    one, other = F.normalize(one, dim=1), other / other.norm(dim=1, keepdim=True)  # right
    loss = F.cross_entropy(one @ other.t() / 0.1, torch.arange(8))
    opt.zero_grad()
    loss.backward()
    opt.step()

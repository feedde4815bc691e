import torch, torch.nn as nn, torch.nn.functional as F
torch.manual_seed(0)
enc, proj = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 16)), nn.Linear(16, 8)
opt = torch.optim.Adam([*enc.parameters(), *proj.parameters()], 1e-3)
for _ in range(4):
    x = torch.randn(12, 10)
    a, b = (F.normalize(proj(enc(x + .1 * torch.randn_like(x))), dim=1) for _ in range(2))
    c = (a - a.mean(0)).T @ (b - b.mean(0)) / 12
    on, off = torch.diagonal(c).add(-1).pow(2).sum(), (c - torch.diag(torch.diagonal(c))).pow(2).sum()
    loss = on + .005 * off
    opt.zero_grad(); loss.backward(); opt.step()

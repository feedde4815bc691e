# projector ends in a batch norm whose affine part is switched off by hand (Barlow Twins, SimSiam)
import torch, torch.nn as nn
torch.manual_seed(0)
enc = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 8), nn.BatchNorm1d(8))
enc[4].weight.requires_grad_(False); enc[4].bias.requires_grad_(False)
opt = torch.optim.Adam([p for p in enc.parameters() if p.requires_grad], lr=0.01)
for _ in range(4):
    x = torch.randn(32, 6)
    a, b = enc(x + 0.1 * torch.randn_like(x)), enc(x + 0.1 * torch.randn_like(x))
    c = a.T @ b / 32
    loss = (c - torch.eye(8)).pow(2).sum()
    opt.zero_grad(); loss.backward(); opt.step()

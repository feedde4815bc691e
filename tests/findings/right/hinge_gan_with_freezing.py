import torch
from torch import nn
torch.manual_seed(0)
G, D = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 3)), nn.Sequential(nn.Linear(3, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1))
g_opt, d_opt = torch.optim.Adam(G.parameters(), 1e-3, (0.0, 0.9)), torch.optim.Adam(D.parameters(), 1e-3, (0.0, 0.9))
for step in range(9):
    D.requires_grad_(True)
    real, z = torch.randn(6, 3), torch.randn(6, 2)
    with torch.no_grad():
        fake = G(z)
    d_loss = torch.relu(1 - D(real)).mean() + torch.relu(1 + D(fake)).mean()
    d_opt.zero_grad(); d_loss.backward(); d_opt.step()
    if step % 3 == 2:
        D.requires_grad_(False)
        g_loss = -D(G(z)).mean()
        g_opt.zero_grad(); g_loss.backward(); g_opt.step()

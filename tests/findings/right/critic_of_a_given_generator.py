# generator with dropout (pix2pix: the noise), frozen in discriminator phase with its own script turn
import torch, torch.nn as nn
torch.manual_seed(0)
G = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Dropout(0.5), nn.Linear(16, 2)).requires_grad_(False)
D = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
opt = torch.optim.Adam(D.parameters(), lr=0.01)
for _ in range(4):   # a generator given, sampled with its dropout; only the critic is trained
    with torch.no_grad():
        fake = G(torch.randn(32, 4))
    real = torch.randn(32, 2) + 2
    loss = nn.functional.softplus(-D(real)).mean() + nn.functional.softplus(D(fake)).mean()
    opt.zero_grad(); loss.backward(); opt.step()

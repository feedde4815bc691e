import torch, torch.nn as nn
torch.manual_seed(0)
sn = nn.utils.spectral_norm
D = nn.Sequential(sn(nn.Linear(2, 16)), nn.LeakyReLU(.1), sn(nn.Linear(16, 1)))
G = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
od, og = torch.optim.Adam(D.parameters(), 2e-4), torch.optim.Adam(G.parameters(), 2e-4)
for it in range(5):
    real, z = torch.randn(8, 2) + 2, torch.randn(8, 4)
    od.zero_grad()
    ld = torch.relu(1 - D(real)).mean() + torch.relu(1 + D(G(z).detach())).mean()
    ld.backward(); od.step()
    og.zero_grad(); lg = -D(G(z)).mean(); lg.backward(); og.step()
D.eval()
with torch.no_grad(): print(D(torch.randn(4, 2)).mean().item())

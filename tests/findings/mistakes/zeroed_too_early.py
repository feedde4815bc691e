import torch
from torch import nn

torch.manual_seed(0)
G, D = nn.Linear(2, 3), nn.Sequential(nn.Linear(3, 4), nn.LeakyReLU(0.2), nn.Linear(4, 1))
opt_g, opt_d = torch.optim.Adam(G.parameters(), 1e-2), torch.optim.Adam(D.parameters(), 1e-2)
for real in torch.randn(5, 8, 3):
    opt_g.zero_grad()
    opt_d.zero_grad()
    noise = torch.randn(8, 2)
    g_loss = nn.functional.softplus(-D(G(noise))).mean()
    g_loss.backward()  # wrong: AG813
    g_loss.backward()  # right
    opt_g.step()
    opt_d.zero_grad()  # right
    d_loss = nn.functional.softplus(D(G(noise).detach())).mean() + nn.functional.softplus(-D(real)).mean()
    d_loss.backward()
    opt_d.step()

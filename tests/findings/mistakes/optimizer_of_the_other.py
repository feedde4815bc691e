import torch
from torch import nn

torch.manual_seed(0)
G, D = nn.Linear(2, 3), nn.Linear(3, 1)
d_opt = torch.optim.Adam(D.parameters(), 1e-3)
g_opt = torch.optim.Adam(D.parameters(), 1e-3)  # wrong: AG802
g_opt = torch.optim.Adam(G.parameters(), 1e-3)  # right
for _ in range(4):
    d_opt.zero_grad()
    (D(G(torch.randn(4, 2)).detach()).mean() - D(torch.randn(4, 3)).mean()).backward()
    d_opt.step()
    g_opt.zero_grad()
    (-D(G(torch.randn(4, 2))).mean()).backward()
    g_opt.step()

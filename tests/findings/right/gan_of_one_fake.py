import torch
from torch import nn
torch.manual_seed(0)
G = nn.Linear(4, 2)
D = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1))
g_opt = torch.optim.SGD(G.parameters(), lr=1e-2)
d_opt = torch.optim.SGD(D.parameters(), lr=1e-2)
for i in range(8):
    x = torch.randn(16, 2)
    fake = G(torch.randn(16, 4))
    d_loss = D(fake).mean() - D(x).mean()
    d_opt.zero_grad()
    d_loss.backward(retain_graph=True)
    g_loss = -D(fake).mean()
    g_opt.zero_grad()
    g_loss.backward()
    d_opt.step()
    g_opt.step()

import torch
from torch import nn
torch.manual_seed(0)
H = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
opt = torch.optim.Adam(H.parameters(), 1e-3)
for i in range(3):
    x = torch.randn(8, 2, requires_grad=True)
    dH, = torch.autograd.grad(H(x).sum(), x, create_graph=True)
    loss = (dH - torch.stack([-x[:, 1], x[:, 0]], 1)).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()

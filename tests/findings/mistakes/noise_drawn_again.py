import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(2, 16), nn.SiLU(), nn.Linear(16, 2))
opt = torch.optim.Adam(net.parameters(), lr=0.01)
for _ in range(3):
    clean = torch.randn(32, 2) * 0.3
    noise = torch.randn_like(clean)
    noisy = 0.8 * clean + 0.6 * noise
    loss = (net(noisy) - torch.randn_like(clean)).pow(2).mean()  # wrong: AG517
    loss = (net(noisy) - noise).pow(2).mean()  # right
    opt.zero_grad(); loss.backward(); opt.step()

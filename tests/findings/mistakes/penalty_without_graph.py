import torch
from torch import nn

torch.manual_seed(0)
critic = nn.Sequential(nn.Linear(3, 8), nn.Softplus(), nn.Linear(8, 1))
opt = torch.optim.Adam(critic.parameters(), lr=1e-3)
for _ in range(4):
    real, fake = torch.randn(6, 3), torch.randn(6, 3)
    eps = torch.rand(6, 1)
    mixed = (eps * real + (1 - eps) * fake).requires_grad_()
    (slope,) = torch.autograd.grad(critic(mixed).sum(), mixed)  # wrong: AG816
    (slope,) = torch.autograd.grad(critic(mixed).sum(), mixed, create_graph=True)  # right
    penalty = ((slope.norm(2, dim=1) - 1) ** 2).mean()
    loss = critic(fake).mean() - critic(real).mean() + 10 * penalty
    opt.zero_grad()
    loss.backward()
    opt.step()

import torch
from torch import nn

torch.manual_seed(0)
critic = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
gen = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 2))
oc = torch.optim.RMSprop(critic.parameters(), lr=5e-4)
og = torch.optim.RMSprop(gen.parameters(), lr=5e-4)
for it in range(4):
    for _ in range(3):
        real = torch.randn(16, 2) + 2
        fake = gen(torch.randn(16, 3)).detach()
        loss_c = critic(fake).mean() - critic(real).mean()
        oc.zero_grad()
        loss_c.backward()
        oc.step()
        for p in critic.parameters():
            p.data.clamp_(-0.05, 0.05)
    loss_g = -critic(gen(torch.randn(16, 3))).mean()
    og.zero_grad()
    loss_g.backward()
    og.step()

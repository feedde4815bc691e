import torch
from torch import nn

torch.manual_seed(0)
maker, critic = nn.Linear(4, 2), nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
of_maker, of_critic = torch.optim.RMSprop(maker.parameters(), 1e-3), torch.optim.RMSprop(critic.parameters(), 1e-3)
for _ in range(3):
    for _ in range(2):
        loss = critic(maker(torch.randn(8, 4)).detach()).mean() - critic(torch.randn(8, 2)).mean()
        of_critic.zero_grad()
        loss.backward()
        of_critic.step()
        for p in critic.parameters():
            p.data.clamp(-0.1, 0.1)  # wrong: AG514
            p.data.clamp_(-0.1, 0.1)  # right
    loss = -critic(maker(torch.randn(8, 4))).mean()
    of_maker.zero_grad()
    loss.backward()
    of_maker.step()

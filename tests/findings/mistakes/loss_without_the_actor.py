import torch
from torch import nn

torch.manual_seed(0)
actor = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 1), nn.Tanh())
critic = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
of_actor, of_critic = torch.optim.Adam(actor.parameters(), 1e-3), torch.optim.Adam(critic.parameters(), 1e-3)
for _ in range(4):
    state, action, goal = torch.randn(8, 3), torch.rand(8, 1) * 2 - 1, torch.randn(8, 1)
    loss = (critic(torch.cat([state, action], 1)) - goal).pow(2).mean()
    of_critic.zero_grad()
    loss.backward()
    of_critic.step()
    value = critic(torch.cat([state, action], 1))  # wrong
    value = critic(torch.cat([state, actor(state)], 1))  # right
    of_actor.zero_grad()
    (-value.mean()).backward()  # found: AG806
    of_actor.step()

import torch
from torch import nn

torch.manual_seed(0)
actor, critic = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 1)), nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
of_actor, of_critic = torch.optim.Adam(actor.parameters(), 1e-3), torch.optim.Adam(critic.parameters(), 1e-3)
for turn in range(6):
    state, action, goal = torch.randn(8, 3), torch.rand(8, 1), torch.randn(8, 1)
    loss = (critic(torch.cat([state, action], 1)) - goal).pow(2).mean()
    of_critic.zero_grad()
    loss.backward()
    of_critic.step()
    if turn % 2 == 0:
        of_actor.zero_grad()
        (-critic(torch.cat([state, actor(state)], 1)).mean()).backward()
        of_actor.step()  # right
    of_actor.step()  # wrong: AG806

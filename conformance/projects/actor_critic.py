# own: reinforcement learning, losses of actor, critic and temperature with an optimizer each, and a target network
import copy

import torch
from torch import nn

torch.manual_seed(0)
actor, critic = nn.Linear(4, 2), nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 1))
target = copy.deepcopy(critic)
log_alpha = torch.zeros(1, requires_grad=True)
optimizers = [torch.optim.Adam(p) for p in (actor.parameters(), critic.parameters(), [log_alpha])]
for _ in range(4):
    state, action, reward, then = torch.randn(5, 4), torch.randn(5, 2), torch.randn(5, 1), torch.randn(5, 4)
    with torch.no_grad():
        value = reward + 0.9 * target(torch.cat([then, actor(then).tanh()], 1))
    critic_loss = (critic(torch.cat([state, action], 1)) - value).square().mean()
    optimizers[1].zero_grad()
    critic_loss.backward()
    optimizers[1].step()
    entropy = -actor(state).tanh().square().mean()
    actor_loss = -critic(torch.cat([state, actor(state).tanh()], 1)).mean() - log_alpha.exp().detach() * entropy
    optimizers[0].zero_grad()
    actor_loss.backward()
    optimizers[0].step()
    alpha_loss = (log_alpha.exp() * (entropy.detach() + 1)).mean()
    optimizers[2].zero_grad()
    alpha_loss.backward()
    optimizers[2].step()
    with torch.no_grad():
        for mine, its in zip(target.parameters(), critic.parameters(), strict=True):
            mine.lerp_(its, 0.05)
print(critic_loss.item(), actor_loss.item(), alpha_loss.item())

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
actor = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
critic = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
opt = torch.optim.Adam(actor.parameters(), lr=3e-4)  # wrong
opt = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=3e-4)  # right
obs, returns = torch.randn(32, 4), torch.randn(32)
for update in range(4):
    value = critic(obs).squeeze(-1)
    policy = Categorical(logits=actor(obs))
    action = policy.sample()
    gain = -(policy.log_prob(action) * (returns - value.detach())).mean()
    error = 0.5 * (value - returns).pow(2).mean()
    loss = gain + 0.5 * error  # wrong: AG802
    loss = gain + 0.5 * error  # right
    opt.zero_grad()
    loss.backward()
    opt.step()

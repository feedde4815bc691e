import torch
from torch import nn
from torch.distributions import Normal

torch.manual_seed(0)
actor, critic = nn.Linear(4, 4), nn.Linear(6, 1)
opt, opt_critic = torch.optim.Adam(actor.parameters(), 3e-4), torch.optim.Adam(critic.parameters(), 3e-4)
for s in torch.randn(4, 16, 4):
    error = critic(torch.cat([s, torch.rand(16, 2)], -1)) - s.sum(1, keepdim=True)
    opt_critic.zero_grad()
    error.square().mean().backward()
    opt_critic.step()
    mu, log_std = actor(s).chunk(2, -1)
    policy = Normal(mu, log_std.exp())  # its checks take no gradient, and are not what cuts
    seen = (mu.detach() > 0).sum().item()
    action = policy.rsample().tanh()
    value = critic(torch.cat([s, action.detach()], -1))  # wrong: AG806
    value = critic(torch.cat([s, action], -1))  # right
    opt.zero_grad()
    (-value.mean()).backward()
    opt.step()

import torch
from torch import nn

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
value = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
policy_opt = torch.optim.Adam(policy.parameters(), lr=3e-4)
value_opt = torch.optim.Adam(value.parameters(), lr=1e-3)
for update in range(5):
    obs, returns = torch.randn(16, 4), torch.randn(16)
    dist = torch.distributions.Categorical(logits=policy(obs))
    action, guess = dist.sample(), value(obs).squeeze(-1)
    loss = -(dist.log_prob(action) * (returns - guess).detach()).mean() + (guess - returns).pow(2).mean()
    policy_opt.zero_grad()
    value_opt.zero_grad()
    loss.backward()
    policy_opt.step()
    value_opt.step()

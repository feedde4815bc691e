import torch
from torch import nn

torch.manual_seed(0)
policy = nn.Linear(3, 2)
optimizer = torch.optim.SGD(policy.parameters(), lr=1e-2)
for length in (3, 2, 1):
    chances = torch.distributions.Categorical(logits=policy(torch.randn(length, 3)))
    rewards = torch.arange(length).float()
    returns = rewards - rewards.mean()
    returns = returns / (returns.std() + 1e-8)  # wrong: AG301
    returns = returns / (returns.std(unbiased=False) + 1e-8)  # right
    weights = list(returns)
    chosen = chances.log_prob(chances.sample())
    loss = -sum(one * weight for one, weight in zip(chosen, weights))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

import torch
from torch import nn

torch.manual_seed(0)
body, policy, value = nn.Linear(4, 16), nn.Linear(16, 2), nn.Linear(16, 1)
optimizer = torch.optim.Adam([*body.parameters(), *policy.parameters(), *value.parameters()], lr=1e-3)
for _ in range(5):
    h = torch.tanh(body(torch.randn(10, 4)))
    choice = torch.distributions.Categorical(logits=policy(h))
    action, returns = choice.sample(), torch.randn(10)
    v = value(h).squeeze(-1)
    advantage = returns - v.detach()
    loss = -(choice.log_prob(action) * advantage).mean() + (returns - v).pow(2).mean() - 0.01 * choice.entropy().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

import torch, torch.nn as nn
torch.manual_seed(0)
trunk, pi, value = nn.Linear(4, 16), nn.Linear(16, 3), nn.Linear(16, 1)
opt = torch.optim.RMSprop([*trunk.parameters(), *pi.parameters(), *value.parameters()], lr=1e-3)
for _ in range(4):
    h = torch.tanh(trunk(torch.randn(12, 4)))
    dist = torch.distributions.Categorical(logits=pi(h))
    a, v, returns = dist.sample(), value(h).squeeze(-1), torch.rand(12)
    advantage = returns - v
    actor = -(dist.log_prob(a) * advantage).mean()  # wrong: AG512
    actor = -(dist.log_prob(a) * advantage.detach()).mean()  # right
    loss = actor + 0.5 * nn.functional.mse_loss(v, returns)
    opt.zero_grad(); loss.backward(); opt.step()

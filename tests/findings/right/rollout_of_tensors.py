import torch
from torch import nn
from torch.distributions import Normal

torch.manual_seed(0)
mu = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
opt = torch.optim.Adam(mu.parameters(), lr=1e-2)
for ep in range(5):
    s, logps, rewards = torch.randn(8, 2), [], []
    for t in range(10):
        d = Normal(mu(s), 0.3)
        a = d.sample()
        logps.append(d.log_prob(a).squeeze(1))
        s = torch.stack([s[:, 0] + 0.1 * s[:, 1], s[:, 1] + 0.1 * a[:, 0]], 1)
        rewards.append(-s.pow(2).sum(1))
    ret = torch.stack(rewards).flip(0).cumsum(0).flip(0)
    ret = (ret - ret.mean()) / (ret.std() + 1e-6)
    loss = -(torch.stack(logps) * ret).sum(0).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()

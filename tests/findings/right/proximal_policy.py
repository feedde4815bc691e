import torch
from torch import nn
torch.manual_seed(0)
class AC(nn.Module):
    def __init__(s):
        super().__init__()
        s.body = nn.Sequential(nn.Linear(4, 32), nn.Tanh())
        s.pi, s.v = nn.Linear(32, 3), nn.Linear(32, 1)
    def forward(s, x):
        h = s.body(x); return s.pi(h), s.v(h).squeeze(-1)
ac = AC(); opt = torch.optim.Adam(ac.parameters(), lr=3e-4)
for it in range(3):
    obs = torch.randn(64, 4)
    with torch.no_grad():
        lg, val = ac(obs); dist = torch.distributions.Categorical(logits=lg); act = dist.sample(); old = dist.log_prob(act)
        adv = torch.randn(64); ret = adv + val
    for ep in range(2):
        for idx in torch.randperm(64).split(16):
            lg, v = ac(obs[idx]); d = torch.distributions.Categorical(logits=lg)
            ratio = (d.log_prob(act[idx]) - old[idx]).exp()
            A = (adv[idx] - adv[idx].mean()) / (adv[idx].std() + 1e-8)
            loss = -torch.min(ratio * A, ratio.clamp(.8, 1.2) * A).mean() + .5 * (v - ret[idx]).pow(2).mean() - .01 * d.entropy().mean()
            opt.zero_grad(); loss.backward(); nn.utils.clip_grad_norm_(ac.parameters(), .5); opt.step()

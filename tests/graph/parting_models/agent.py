import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Normal


class ActorCritic(nn.Module):
    def __init__(self, obs, act, hidden=16):
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(obs, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.mu = nn.Linear(hidden, act)
        self.log_std = nn.Parameter(torch.zeros(act))
        self.value = nn.Linear(hidden, 1)

    def forward(self, s):
        h = self.shared(s)
        #B h = self.shared(s); h.requires_grad and h.register_hook(lambda g: g / g.norm())
        dist = Normal(torch.tanh(self.mu(h)), self.log_std.exp())
        v = self.value(h).squeeze(-1)
        #F v = self.value(h).squeeze(-1) * 0.95
        #B v = self.value(h.detach()).squeeze(-1)
        #S v = self.value(h).squeeze(dim=-1)
        return dist, v


def gae(rewards, values, gamma=0.99, lam=0.95):
    adv, last = [], 0.0
    for t in reversed(range(len(rewards))):
        following = values[t + 1] if t + 1 < len(values) else 0.0
        delta = rewards[t] + gamma * following - values[t]
        last = delta + gamma * lam * last
        adv.insert(0, last)
    return torch.stack(adv)


torch.manual_seed(21)
ac = ActorCritic(5, 2)
opt = torch.optim.Adam(ac.parameters(), lr=3e-4, eps=1e-5)
states, rewards = torch.randn(8, 5), torch.randn(8)
with torch.no_grad():
    pi, v_old = ac(states)
    actions = pi.sample()
    old_logp = pi.log_prob(actions).sum(-1)
    adv = gae(rewards, v_old)
    returns = adv + v_old
    adv = (adv - adv.mean()) / (adv.std() + 1e-8)
    old_logp = old_logp + 0.3 * torch.randn(8)
for epoch in range(2):
    pi, v = ac(states)
    logp = pi.log_prob(actions).sum(-1)
    #F logp = pi.log_prob(actions).mean(-1)
    #B logp = pi.log_prob(actions).sum(-1); logp.register_hook(lambda g: g.masked_fill(g > 0, 0.0))
    #S logp = pi.log_prob(actions).sum(dim=-1)
    ratio = (logp - old_logp).exp()
    #R ratio = logp.exp() / old_logp.exp()
    clipped = torch.clamp(ratio, 0.8, 1.2)
    #F clipped = torch.clamp(ratio, 0.9, 1.1)
    #B clipped = ratio + (torch.clamp(ratio, 0.8, 1.2) - ratio).detach()
    policy_loss = -torch.min(ratio * adv, clipped * adv).mean()
    #F policy_loss = -torch.max(ratio * adv, clipped * adv).mean()
    #B policy_loss = -torch.min(ratio.detach() * adv, clipped * adv).mean()
    value_loss = F.mse_loss(v, returns)
    #F value_loss = F.smooth_l1_loss(v, returns)
    #R value_loss = (v * v - 2 * v * returns + returns * returns).mean()
    entropy = pi.entropy().sum(-1).mean()
    loss = policy_loss + 0.5 * value_loss - 0.01 * entropy
    #B loss = policy_loss + 0.5 * value_loss - 0.01 * entropy.detach()
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(ac.parameters(), 0.5)
    opt.step()
print(policy_loss.item(), value_loss.item())

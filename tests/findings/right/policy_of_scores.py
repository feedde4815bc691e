import torch, torch.nn as nn
from torch.distributions import Categorical
torch.manual_seed(0)
class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.pi = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2)); self.v = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
    def act(self, s):
        d = Categorical(logits=self.pi(s)); a = d.sample(); return a, d.log_prob(a)
    def evaluate(self, s, a):
        d = Categorical(logits=self.pi(s)); return d.log_prob(a), d.entropy(), self.v(s).squeeze(-1)
net = ActorCritic(); opt = torch.optim.Adam(net.parameters(), 3e-4)
for update in range(3):
    s = torch.randn(32, 4)
    with torch.no_grad(): a, old = net.act(s)
    ret = torch.randn(32)
    with torch.no_grad(): adv = ret - net.v(s).squeeze(-1)
    for epoch in range(3):
        logp, ent, val = net.evaluate(s, a)
        ratio = (logp - old).exp()
        pl = -torch.min(ratio * adv, ratio.clamp(.8, 1.2) * adv).mean()
        loss = pl + .5 * (val - ret).pow(2).mean() - .01 * ent.mean()
        opt.zero_grad(); loss.backward(); nn.utils.clip_grad_norm_(net.parameters(), .5); opt.step()

import copy
import torch
from torch import nn
torch.manual_seed(0)
def mlp(i, o):
    return nn.Sequential(nn.Linear(i, 16), nn.ReLU(), nn.Linear(16, o))
actor, q1, q2 = mlp(3, 2), mlp(4, 1), mlp(4, 1)
t1, t2 = copy.deepcopy(q1), copy.deepcopy(q2)
log_alpha = torch.zeros((), requires_grad=True)
a_opt = torch.optim.Adam(actor.parameters(), 1e-3)
q_opt = torch.optim.Adam([*q1.parameters(), *q2.parameters()], 1e-3)
t_opt = torch.optim.Adam([log_alpha], 1e-3)
def act(s):
    mean, std = actor(s).chunk(2, 1)
    d = torch.distributions.Normal(mean, nn.functional.softplus(std) + 1e-3)
    u = d.rsample()
    return torch.tanh(u), d.log_prob(u) - torch.log(1 - torch.tanh(u).pow(2) + 1e-6)
for _ in range(5):
    s, a, r, s2 = torch.randn(8, 3), torch.rand(8, 1) * 2 - 1, torch.randn(8, 1), torch.randn(8, 3)
    with torch.no_grad():
        a2, lp = act(s2)
        z = torch.cat([s2, a2], 1)
        y = r + 0.9 * (torch.min(t1(z), t2(z)) - log_alpha.exp() * lp)
    sa = torch.cat([s, a], 1)
    q_loss = nn.functional.mse_loss(q1(sa), y) + nn.functional.mse_loss(q2(sa), y)
    q_opt.zero_grad(); q_loss.backward(); q_opt.step()
    pa, plp = act(s)
    z = torch.cat([s, pa], 1)
    p_loss = (log_alpha.exp().detach() * plp - torch.min(q1(z), q2(z))).mean()
    a_opt.zero_grad(); p_loss.backward(); a_opt.step()
    t_loss = -(log_alpha * (plp.detach() - 1)).mean()
    t_opt.zero_grad(); t_loss.backward(); t_opt.step()
    with torch.no_grad():
        for t, q in ((t1, q1), (t2, q2)):
            for x, w in zip(t.parameters(), q.parameters()):
                x.mul_(0.99).add_(0.01 * w)

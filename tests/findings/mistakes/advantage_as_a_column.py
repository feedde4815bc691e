import torch, torch.nn as nn
from torch.distributions import Categorical
torch.manual_seed(7)
pi, v = nn.Linear(4, 3), nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
opt = torch.optim.Adam([*pi.parameters(), *v.parameters()], 1e-3)
for _ in range(4):
    s = torch.randn(10, 4); dist = Categorical(logits=pi(s)); a = dist.sample()
    ret = torch.rand(10, 1)
    adv = ret - v(s)
    loss_pi = -(dist.log_prob(a) * adv.detach()).mean()  # wrong: AG501
    loss_pi = -(dist.log_prob(a) * adv.detach().squeeze(1)).mean()  # right
    loss = loss_pi + 0.5 * adv.pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()

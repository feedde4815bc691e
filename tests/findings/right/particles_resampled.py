import math
import torch
import torch.nn as nn
torch.manual_seed(0)

trans, obs = nn.Linear(2, 2), nn.Linear(2, 1); log_s = nn.Parameter(torch.zeros(1))
opt = torch.optim.Adam([*trans.parameters(), *obs.parameters(), log_s], lr=1e-2)
for it in range(4):
    y = torch.randn(6); p = torch.randn(32, 2); ll = 0.0
    for t in range(6):
        p = trans(p) + 0.1 * torch.randn(32, 2)
        w = torch.distributions.Normal(obs(p).squeeze(1), log_s.exp()).log_prob(y[t])
        ll = ll + torch.logsumexp(w, 0) - math.log(32)
        idx = torch.multinomial(w.detach().softmax(0), 32, replacement=True)
        p = p[idx]
    loss = -ll
    opt.zero_grad(); loss.backward(); opt.step()

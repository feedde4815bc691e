import torch, torch.nn as nn
torch.manual_seed(1)
enc, dec = nn.Linear(6, 4), nn.Linear(2, 6)
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], 1e-3)
for _ in range(4):
    x = torch.rand(12, 6)
    mu, log_var = enc(x).chunk(2, -1)
    q = torch.distributions.Normal(mu, (0.5 * log_var).exp())
    z = q.sample()  # wrong: AG205
    z = q.rsample()  # right
    kl = -0.5 * (1 + log_var - mu.square() - log_var.exp()).sum(-1).mean()
    loss = (dec(z) - x).square().sum(-1).mean() + kl
    opt.zero_grad(); loss.backward(); opt.step()

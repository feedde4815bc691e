import torch, torch.nn as nn, torch.nn.functional as F
torch.manual_seed(0)
body = nn.Sequential(nn.Linear(3, 16), nn.Tanh())
mean, log_std = nn.Linear(16, 1), nn.Linear(16, 1)
opt = torch.optim.Adam([*body.parameters(), *mean.parameters(), *log_std.parameters()], lr=1e-2)
for _ in range(4):
    x = torch.randn(32, 3); y = x[:, :1] + 0.1 * torch.randn(32, 1)
    h = body(x)
    mu, s = mean(h), log_std(h)
    z = (y - mu) * torch.exp(-s)
    nll = (0.5 * z ** 2 + s).mean()
    loss = nll + 0.1 * F.mse_loss(mu, y)
    opt.zero_grad(); loss.backward(); opt.step()

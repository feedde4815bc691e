import torch, torch.nn as nn, torch.nn.functional as F
torch.manual_seed(0)
mean, precision = nn.Linear(3, 1), nn.Linear(3, 1)
opt = torch.optim.Adam([*mean.parameters(), *precision.parameters()], lr=1e-2)
for _ in range(4):
    x = torch.randn(32, 3); y = x[:, :1] + 0.1 * torch.randn(32, 1)
    mu, p = mean(x), F.softplus(precision(x)) + 1e-3
    err = y - mu
    loss = 0.5 * (err * p * err - p.log()).mean()
    rmse = F.mse_loss(mu, y).sqrt()
    print(float(rmse))
    opt.zero_grad(); loss.backward(); opt.step()

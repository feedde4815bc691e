import torch
from torch import nn

torch.manual_seed(0)
body, head = nn.Linear(4, 8), nn.Linear(8, 1)
groups = [{"params": body.parameters(), "lr": 0.0}, {"params": head.parameters()}]
groups[0]["lr"] = 0.01  # right
opt = torch.optim.Adam(groups, lr=0.1)  # found: AG807
for _ in range(4):
    x = torch.randn(16, 4)
    loss = (head(torch.tanh(body(x))) - x[:, :1]).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()

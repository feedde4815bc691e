import torch
from torch import nn
torch.manual_seed(0)
gen = nn.Linear(2, 1); opt = torch.optim.Adam(gen.parameters(), 1e-2)
y = torch.randn(16)
for i in range(4):
    x = gen(torch.randn(16, 2))
    C = (x - y).abs()
    with torch.no_grad():
        K = torch.exp(-C / .5); u = torch.ones(16)
        for _ in range(10):
            v = (1 / 16) / (K.t() @ u); u = (1 / 16) / (K @ v)
        P = u[:, None] * K * v
    loss = (P * C).sum()
    opt.zero_grad(); loss.backward(); opt.step()

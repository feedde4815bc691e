import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 1)).half()
x, y = torch.randn(40, 5).half(), torch.randn(40, 1).half()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)  # wrong: AG301
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3, eps=1e-4)  # right
for _ in range(6):
    optimizer.zero_grad()
    (nn.functional.mse_loss(net(x), y) * 1e-3).backward()
    optimizer.step()

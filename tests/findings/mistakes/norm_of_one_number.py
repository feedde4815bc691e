import torch
from torch import nn

torch.manual_seed(0)
layers = [nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1)]
layers += [nn.LayerNorm(1)]  # wrong
net = nn.Sequential(*layers)
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
x = torch.randn(40, 4)
y = x.sum(1, keepdim=True)
for _ in range(8):
    loss = (net(x) - y).pow(2).mean()  # found: AG502
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
x = torch.randn(30, 4)
y = x.sum(1, keepdim=True)
q = torch.tensor([0.1, 0.5, 0.9])
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for _ in range(4):
    loss = torch.maximum(q * (y - net(x)), (q - 1) * (y - net(x))).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

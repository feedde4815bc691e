import copy

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 1))
x = torch.randn(40, 3)
y = x.sum(1, keepdim=True)
optimizer = torch.optim.Adam(net.parameters(), lr=0.05)
best, kept = float("inf"), None
for _ in range(20):
    loss = nn.functional.mse_loss(net(x[:30]), y[:30])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        held_out = nn.functional.mse_loss(net(x[30:]), y[30:]).item()
    if held_out < best:
        best = held_out
        kept = net.state_dict()  # wrong: AG817
        kept = copy.deepcopy(net.state_dict())  # right
net.load_state_dict(kept)

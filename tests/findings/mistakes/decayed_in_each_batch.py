import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(10, 20), nn.ReLU(), nn.Linear(20, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
x = torch.randn(160, 10)
y = x[:, :3].sum(1, keepdim=True)
for epoch in range(3):
    for i in range(0, 160, 8):
        loss = nn.functional.mse_loss(net(x[i : i + 8]), y[i : i + 8])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()  # wrong: AG807
    schedule.step()  # right

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
total = 0.0
for x in torch.randn(9, 4, 8):
    total += nn.functional.mse_loss(net(x), torch.zeros(4, 1))  # wrong: AG401
    total += nn.functional.mse_loss(net(x), torch.zeros(4, 1)).item()  # right
print(total / 9)

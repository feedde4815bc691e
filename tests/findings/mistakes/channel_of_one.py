import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 1, 1))
images, masks = torch.randn(3, 1, 6, 6), torch.rand(3, 6, 6)
for _ in range(3):
    loss = ((net(images) - masks) ** 2).mean()  # wrong: AG501
    loss = ((net(images).squeeze(1) - masks) ** 2).mean()  # right
    loss.backward()
    net.zero_grad()

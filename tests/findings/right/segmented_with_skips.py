import torch
from torch import nn
import torch.nn.functional as F


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.d1, self.d2 = nn.Conv2d(1, 8, 3, padding=1), nn.Conv2d(8, 16, 3, padding=1)
        self.u1, self.o = nn.ConvTranspose2d(16, 8, 2, stride=2), nn.Conv2d(16, 1, 1)

    def forward(self, x):
        a = F.relu(self.d1(x))
        b = F.relu(self.d2(F.max_pool2d(a, 2)))
        return self.o(torch.cat([a, self.u1(b)], 1))


torch.manual_seed(0)
net = UNet()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
img = torch.rand(4, 1, 12, 12)
mask = (img > 0.6).float()
for _ in range(5):
    p = torch.sigmoid(net(img))
    dice = 1 - (2 * (p * mask).sum((1, 2, 3)) + 1) / (p.sum((1, 2, 3)) + mask.sum((1, 2, 3)) + 1)
    loss = dice.mean() + F.binary_cross_entropy(p, mask)
    opt.zero_grad()
    loss.backward()
    opt.step()

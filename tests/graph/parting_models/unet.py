import torch
from torch import nn
from torch.nn import functional as F


def double_conv(c_in, c_out):
    return nn.Sequential(
        nn.Conv2d(c_in, c_out, 3, padding=1), nn.InstanceNorm2d(c_out, affine=True), nn.LeakyReLU(0.1),
        nn.Conv2d(c_out, c_out, 3, padding=1), nn.InstanceNorm2d(c_out, affine=True), nn.LeakyReLU(0.1),
    )


def dice(logits, mask, smooth=1.0):
    p = torch.sigmoid(logits).flatten(1)
    #F p = torch.sigmoid(logits * 1.02).flatten(1)
    #B p = torch.sigmoid(logits).detach().flatten(1)
    m = mask.flatten(1)
    inter = (p * m).sum(1)
    #F inter = (p * m).sum(1) * 1.003
    #B inter = (p * m).sum(1); inter.register_hook(lambda g: g * 2)
    #R inter = (m * p * 1.3 / 1.3).sum(1)
    total = p.sum(1) + m.sum(1)
    #F total = (p * p).sum(1) + m.sum(1)
    return 1 - ((2 * inter + smooth) / (total + smooth)).mean()
    #F return 1 - ((2 * inter + 1e-5) / (total + 1e-5)).mean()


class UNet(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.down1, self.down2 = double_conv(1, width), double_conv(width, 2 * width)
        self.up = nn.ConvTranspose2d(2 * width, width, 2, stride=2)
        self.merge = double_conv(2 * width, width)
        self.head = nn.Conv2d(width, 1, 1)

    def forward(self, x):
        skip = self.down1(x)
        #B skip = self.down1(x); skip.register_hook(lambda g: g / g.norm())
        low = self.down2(F.max_pool2d(skip, 2))
        #F low = self.down2(F.avg_pool2d(skip, 2))
        #B low = self.down2(F.max_pool2d(skip.detach(), 2))
        high = self.up(low)
        #F high = F.interpolate(low[:, :4], scale_factor=2, mode="nearest")
        #S high = self.up.forward(low)
        both = torch.cat([skip, high], dim=1)
        #F both = torch.cat([high, skip], dim=1)
        #B both = torch.cat([skip.detach(), high], dim=1)
        return self.head(self.merge(both))


torch.manual_seed(31)
net = UNet()
images = torch.rand(2, 1, 12, 12)
masks = (torch.rand(2, 1, 12, 12) > 0.6).float()
opt = torch.optim.RMSprop(net.parameters(), lr=1e-3)
for _ in range(2):
    logits = net(images)
    bce = F.binary_cross_entropy_with_logits(logits, masks)
    #F bce = F.binary_cross_entropy_with_logits(logits, masks, pos_weight=torch.tensor(1.05))
    #R bce = (F.softplus(logits) - logits * masks).mean()
    loss = bce + dice(logits, masks)
    #F loss = bce + 0.98 * dice(logits, masks)
    opt.zero_grad(set_to_none=True)
    loss.backward()
    opt.step()
print(f"{loss.item():.3f}")

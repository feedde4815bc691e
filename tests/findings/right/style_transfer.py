import torch
from torch import nn
torch.manual_seed(0)
vgg = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Conv2d(4, 4, 3))
for p in vgg.parameters(): p.requires_grad_(False)
content = torch.rand(1, 3, 10, 10); target = vgg(content).detach()
img = torch.rand(1, 3, 10, 10, requires_grad=True)
opt = torch.optim.LBFGS([img], max_iter=3)
def closure():
    with torch.no_grad(): img.clamp_(0, 1)
    opt.zero_grad()
    loss = (vgg(img) - target).pow(2).mean(); loss.backward(); return loss
for i in range(3): opt.step(closure)
with torch.no_grad(): img.clamp_(0, 1)

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Conv2d(1, 1, 3, padding=1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    x = torch.randn(2, 1, 6, 6)
    mask, score = (x > 0).float(), net(x)
    found = (score.sigmoid() > 0.5).float()  # wrong: AG816
    found = score.sigmoid()  # right
    dice = 2 * (found * mask).sum() / (found.sum() + mask.sum() + 1)
    loss = nn.functional.binary_cross_entropy_with_logits(score, mask) + 1 - dice
    opt.zero_grad(); loss.backward(); opt.step()

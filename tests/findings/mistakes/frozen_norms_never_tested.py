import torch
from torch import nn

torch.manual_seed(0)
net = nn.ModuleDict({"backbone": nn.Sequential(nn.Linear(5, 6), nn.BatchNorm1d(6)), "head": nn.Linear(6, 2)})
net["backbone"].requires_grad_(False)
net["backbone"].eval()  # right
opt = torch.optim.SGD(net["head"].parameters(), lr=0.1)
for _ in range(3):
    h = net["backbone"](torch.randn(8, 5) + 1)  # wrong: AG606
    h = net["backbone"](torch.randn(8, 5) + 1)  # right
    loss = nn.functional.cross_entropy(net["head"](h), torch.randint(0, 2, (8,)))
    opt.zero_grad(); loss.backward(); opt.step()

import torch
from torch import nn
from torch.optim.swa_utils import SWALR, AveragedModel, update_bn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
mean, late = AveragedModel(net), SWALR(opt, swa_lr=0.05)
batches = [(torch.randn(16, 4), torch.randint(0, 2, (16,))) for _ in range(3)]
for epoch in range(4):
    for x, y in batches:
        opt.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        opt.step()
    if epoch > 1:
        mean.update_parameters(net)
        late.step()
update_bn((x for x, _ in batches), mean)

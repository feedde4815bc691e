import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))
opt = torch.optim.SGD(net.parameters(), .01)
for epoch in range(6):
    if epoch == 3:
        for m in net.modules():
            if isinstance(m, nn.BatchNorm1d):
                m.eval()
    x = torch.randn(16, 3)
    loss = net(x).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()

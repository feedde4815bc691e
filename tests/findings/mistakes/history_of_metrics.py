import torch
from torch import nn

torch.manual_seed(0)


class Meter:
    def __init__(self):
        self.values = []

    def update(self, value):
        self.values.append(value)  # wrong: AG401
        self.values.append(value.detach())  # right


meter, net = Meter(), nn.Sequential(nn.Linear(8, 8), nn.Sigmoid(), nn.Linear(8, 2))
opt = torch.optim.Adam(net.parameters())
for x in torch.randn(8, 5, 8):
    opt.zero_grad()
    loss = nn.functional.cross_entropy(net(x), torch.ones(5, dtype=torch.long))
    loss.backward()
    opt.step()
    meter.update(loss)

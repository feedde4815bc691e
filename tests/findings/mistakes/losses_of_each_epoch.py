import torch
from torch import nn
torch.manual_seed(19)
class History:
    def __init__(self): self.records = {"train": [], "val": []}
    def log(self, key, value): self.records[key].append(value)  # found: AG401
net = nn.Sequential(nn.Linear(7, 14), nn.ELU(), nn.Linear(14, 1))
hist = History()
optimizer = torch.optim.Adagrad(net.parameters(), lr=0.05)
xs, ys = torch.randn(30, 7), torch.randn(30, 1)
for epoch in range(8):
    perm = torch.randperm(30)
    for idx in perm.split(10):
        loss = (net(xs[idx]) - ys[idx]).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    val = (net(xs) - ys).abs().mean()
    hist.log("val", val)  # wrong
    hist.log("val", val.item())  # right

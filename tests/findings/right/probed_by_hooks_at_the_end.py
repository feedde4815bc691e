import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Sequential(nn.Linear(5, 8), nn.ReLU()), nn.Sequential(nn.Linear(8, 8), nn.ReLU()), nn.Linear(8, 2))
seen = {}
handles = [net[i].register_forward_hook(lambda m, a, out, i=i: seen.__setitem__(i, out.detach())) for i in range(2)]
net(torch.randn(1, 5))
sizes = [seen[i].shape[1] for i in range(2)]
for h in handles:
    h.remove()
opt = torch.optim.SGD(net.parameters(), 0.1)
for _ in range(4):
    x = torch.randn(8, 5)
    h = net[0][1](net[0][0](x))
    loss = nn.functional.cross_entropy(net[2](net[1](h)), (x.sum(1) > 0).long())
    opt.zero_grad()
    loss.backward()
    opt.step()
handle = net[1].register_forward_hook(lambda m, a, out: seen.__setitem__("late", out))
with torch.no_grad():
    net(torch.randn(3, 5))
print(sizes, seen["late"].shape)

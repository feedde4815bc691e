import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
for _ in range(4):
    before = net.state_dict()  # wrong: AG817
    before = {name: x.clone() for name, x in net.state_dict().items()}  # right
    height, inner = 4 * torch.rand(1), torch.optim.SGD(net.parameters(), lr=0.02)
    for _ in range(3):
        x = torch.randn(10, 1)
        inner.zero_grad()
        (net(x) - height * x.sin()).pow(2).mean().backward()
        inner.step()
    after = net.state_dict()
    net.load_state_dict({name: before[name] + 0.1 * (after[name] - before[name]) for name in before})

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
slow = [p.detach().clone() for p in net.parameters()]
x = torch.randn(32, 4)
y = x.pow(2).sum(1, keepdim=True)
for it in range(15):
    opt.zero_grad()
    loss = nn.functional.mse_loss(net(x), y)
    loss.backward()
    opt.step()
    if it % 5 == 4:
        with torch.no_grad():
            for s, p in zip(slow, net.parameters()):
                s.add_(p - s, alpha=0.5)
                p.copy_(s)
print(loss.item())

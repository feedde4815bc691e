import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 1))
x = torch.randn(20, 3)
y = x.sin().sum(1, keepdim=True)
opt = torch.optim.LBFGS(net.parameters(), lr=0.5, max_iter=4, line_search_fn="strong_wolfe")
for _ in range(3):
    def closure():
        opt.zero_grad()
        loss = (net(x) - y).pow(2).mean() + 1e-4 * sum(p.pow(2).sum() for p in net.parameters())
        loss.backward()
        return loss
    opt.step(closure)

import torch
from torch import nn

torch.manual_seed(0)


class Coder(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.mean = nn.Linear(10, 16), nn.Linear(16, 4)
        self.spread = self.mean  # wrong: AG603
        self.spread = nn.Linear(16, 4)  # right
        self.back = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 10))

    def forward(self, x):
        h = torch.relu(self.first(x))
        mean, spread = self.mean(h), self.spread(h)
        return self.back(mean + torch.randn_like(mean) * (0.5 * spread).exp()), mean, spread


net = Coder()
opt = torch.optim.Adam(net.parameters(), 1e-3)
for _ in range(3):
    x = torch.rand(8, 10)
    made, mean, spread = net(x)
    loss = (made - x).pow(2).sum() - 0.5 * (1 + spread - mean.pow(2) - spread.exp()).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()

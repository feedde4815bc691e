import torch
from torch import nn


class Likelihood(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
        self.register_buffer("log_sigma", torch.zeros(1))  # wrong
        self.log_sigma = nn.Parameter(torch.zeros(1))  # right

    def forward(self, x, y):
        return (self.log_sigma + (y - self.mean(x)).pow(2) / (2 * (2 * self.log_sigma).exp())).mean()


torch.manual_seed(0)
net = Likelihood()
groups = [
    {"params": net.mean.parameters(), "lr": 1e-3},
    {"params": [net.log_sigma], "lr": 1e-2},  # found: AG801
]
optimizer = torch.optim.Adam(groups)
x = torch.randn(64, 2)
y = x[:, :1] + 0.3 * torch.randn(64, 1)
for _ in range(8):
    loss = net(x, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

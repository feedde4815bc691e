import torch
from torch import nn

torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.first, self.time, self.last = nn.Linear(n, n), nn.Linear(1, n), nn.Linear(n, n)

    def forward(self, x, t):
        h = torch.relu(self.first(x))
        h + self.time(t)  # wrong: AG514
        h = h + self.time(t)  # right
        return self.last(torch.tanh(h))


net = Block(5)
opt = torch.optim.Adam(net.parameters(), 1e-2)
for _ in range(4):
    x, t = torch.randn(8, 5), torch.rand(8, 1)
    loss = (net(x + t * torch.randn_like(x), t) - x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()

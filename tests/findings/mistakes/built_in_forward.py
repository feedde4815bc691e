import torch
from torch import nn

torch.manual_seed(0)


class Lazy(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(5, 6)
        self.proj = None

    def forward(self, x):
        h = torch.relu(self.first(x))
        if self.proj is None:
            self.proj = nn.Linear(h.shape[-1], 1)  # wrong: AG802
            self.proj = nn.Linear(h.shape[-1], 1)  # right
        return self.proj(h)


net = Lazy()
x = torch.randn(8, 5)
net(x)  # right
opt = torch.optim.Adam(net.parameters())
for step in range(4):
    loss = net(x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()

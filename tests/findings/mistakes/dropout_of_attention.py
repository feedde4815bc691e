import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.o = nn.Linear(6, 6), nn.Linear(6, 1)

    def forward(self, x):
        a = torch.softmax(self.q(x) @ x.T / 6**0.5, -1)
        a = F.dropout(a, p=0.1)  # wrong: AG604
        a = F.dropout(a, p=0.1, training=self.training)  # right
        return self.o(a @ x)


net, x = Attention(), torch.randn(8, 6)
optimizer = torch.optim.Adam(net.parameters())
for _ in range(3):
    net.train()
    optimizer.zero_grad()
    net(x).pow(2).mean().backward()
    optimizer.step()
    net.train(False)
    with torch.no_grad():
        net(x).pow(2).mean().item()

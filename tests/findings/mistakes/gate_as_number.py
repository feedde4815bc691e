import torch
from torch import nn

torch.manual_seed(0)


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Linear(4, 4)
        self.gate = nn.Parameter(torch.tensor(0.5))

    def forward(self, x):
        g = float(self.gate)  # wrong: AG201
        g = self.gate  # right
        return g * self.f(x) + (1 - g) * x


model = Gated()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    x = torch.randn(8, 4)
    optimizer.zero_grad()
    (model(x) - x.flip(1)).pow(2).mean().backward()
    optimizer.step()

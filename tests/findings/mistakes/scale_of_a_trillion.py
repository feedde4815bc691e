import torch
from torch import nn


start = 1e12  # wrong
start = 1.0  # right


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(start))  # found: AG311
        self.layer = nn.Linear(3, 1)

    def forward(self, x):
        return self.layer(x) * self.scale


torch.manual_seed(0)
model = Scaled()
optimizer = torch.optim.Adam(model.parameters(), 1e-3)
for _ in range(4):
    x = torch.randn(10, 3)
    optimizer.zero_grad()
    (model(x) - x.sum(1, keepdim=True)).abs().mean().backward()
    optimizer.step()

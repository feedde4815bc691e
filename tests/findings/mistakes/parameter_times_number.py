import torch
from torch import nn

torch.manual_seed(0)


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(4, 4)) * 0.1  # wrong: AG001
        self.w = nn.Parameter(torch.randn(4, 4) * 0.1)  # right
        self.b = nn.Parameter(torch.zeros(4))

    def forward(self, x):
        return torch.tanh(x @ self.w + self.b)


model, x = Scaled(), torch.randn(12, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    optimizer.zero_grad()
    (model(x) - x.sin()).pow(2).mean().backward()
    optimizer.step()

import torch
from torch import nn

torch.manual_seed(0)


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 4)
        self.temperature = torch.ones(1, requires_grad=True)  # wrong: AG802
        self.temperature = nn.Parameter(torch.ones(1))  # right

    def forward(self, x):
        return self.inner(x) / self.temperature


net = Scaled()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x, y = torch.randn(9, 4), torch.randint(0, 4, (9,))
for _ in range(4):
    opt.zero_grad()
    loss = nn.functional.cross_entropy(net(x), y)
    loss.backward()
    opt.step()

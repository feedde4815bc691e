import torch
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(3, 4), nn.Linear(4, 1)

    def forward(self, x):
        h = self.first(x)
        h += 1  # wrong: AG012
        h = h + 1  # right
        return self.last(torch.tanh(h))


net = Net()
seen = []
net.first.register_full_backward_hook(lambda module, given, came: seen.append(came[0].norm().item()))
net(torch.randn(5, 3)).sum().backward()

import torch
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.drop, self.last = nn.Linear(6, 6), nn.Dropout(0.3), nn.Linear(6, 1)

    def forward(self, x):
        h = torch.tanh(self.first(x))
        h = nn.Dropout(0.3)(h)  # wrong: AG604
        h = self.drop(h)  # right
        return self.last(h)


net, x = Net(), torch.randn(8, 6)
net(x).pow(2).mean().backward()
net.eval()
with torch.no_grad():
    net(x).pow(2).mean().item()

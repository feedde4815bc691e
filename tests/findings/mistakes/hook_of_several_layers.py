import torch
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Sequential(nn.Linear(4, 8), nn.ReLU()), nn.Linear(8, 2)

    def forward(self, x):
        return self.head(self.body.forward(x))  # wrong
        return self.head(self.body(x))  # right


net, kept = Net(), []
net.body.register_forward_hook(lambda module, given, made: kept.append(made.mean().item()))  # found: AG814
opt = torch.optim.SGD(net.parameters(), 0.1)
for _ in range(4):
    loss = nn.functional.cross_entropy(net(torch.randn(6, 4)), torch.randint(0, 2, (6,)))
    opt.zero_grad()
    loss.backward()
    opt.step()

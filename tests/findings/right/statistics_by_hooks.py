import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(5, 8)
        self.b = nn.Linear(8, 8)
        self.c = nn.Linear(8, 2)

    def forward(self, x):
        return self.c(torch.relu(self.b(torch.relu(self.a(x)))))


torch.manual_seed(0)
net = Net()
stats = {}
for name, mod in net.named_modules():
    if isinstance(mod, nn.Linear):
        mod.register_forward_hook(lambda m, i, o, n=name: stats.__setitem__(n, o.detach().std().item()))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x, y = torch.randn(20, 5), torch.randint(0, 2, (20,))
for _ in range(5):
    opt.zero_grad()
    loss = nn.functional.cross_entropy(net(x), y)
    loss.backward()
    opt.step()
print(stats)

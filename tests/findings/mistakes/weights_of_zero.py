import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 6), nn.ReLU(), nn.Linear(6, 1))


def init(module):
    if isinstance(module, nn.Linear):
        module.weight.data.zero_()  # wrong: AG308
        nn.init.xavier_uniform_(module.weight)  # right
        nn.init.zeros_(module.bias)


net.apply(init)
x, y = torch.randn(30, 4), torch.randn(30, 1)
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
for _ in range(4):
    optimizer.zero_grad()
    nn.functional.mse_loss(net(x), y).backward()
    optimizer.step()

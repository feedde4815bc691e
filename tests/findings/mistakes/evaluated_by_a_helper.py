import torch
from torch import nn


def make() -> nn.Module:
    model = nn.Sequential(nn.Linear(5, 12), nn.ReLU(), nn.Dropout(0.4), nn.Linear(12, 2))
    return model.eval()  # wrong: AG605
    return model  # right


torch.manual_seed(0)
net = make()
optimizer = torch.optim.Adam(net.parameters(), 1e-3)
for _ in range(4):
    loss = nn.functional.cross_entropy(net(torch.randn(9, 5)), torch.randint(0, 2, (9,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

import torch
from torch import nn

torch.manual_seed(0)
encoder = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 4))
optimizer = torch.optim.SGD(encoder.parameters(), lr=0.05)
for _ in range(4):
    x = torch.randn(12, 8)
    a, b = (nn.functional.normalize(encoder(x + 0.1 * torch.randn_like(x)), dim=1) for _ in range(2))
    similar = a @ b.t() / 0.1
    loss = nn.functional.cross_entropy(similar, torch.arange(12))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

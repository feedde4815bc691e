import torch
from torch import nn

torch.manual_seed(0)
body, kinds, sizes = nn.Linear(5, 16), nn.Linear(16, 3), nn.Linear(16, 1)
optimizer = torch.optim.Adam([*body.parameters(), *kinds.parameters(), *sizes.parameters()], lr=1e-3)
x, kind, size = torch.randn(20, 5), torch.randint(0, 3, (20,)), torch.randn(20, 1)
for _ in range(5):
    h = body(x).relu()
    loss = nn.functional.cross_entropy(kinds(h), kind)
    other = nn.functional.mse_loss(sizes(h), size)
    loss + 0.5 * other  # wrong: AG202
    loss = loss + 0.5 * other  # right
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

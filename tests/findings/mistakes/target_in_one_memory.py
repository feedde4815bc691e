import torch
from torch import nn

torch.manual_seed(0)
q, target = nn.Linear(3, 2), nn.Linear(3, 2)
optimizer = torch.optim.Adam(q.parameters())


def synchronize():
    for theirs, ours in zip(target.parameters(), q.parameters()):
        theirs.data = ours.data  # wrong: AG603
        theirs.data.copy_(ours.data)  # right


for step in range(6):
    if step % 3 == 0:
        synchronize()
    with torch.no_grad():
        y = torch.rand(8) + 0.9 * target(torch.randn(8, 3)).max(1).values
    loss = (q(torch.randn(8, 3)).max(1).values - y).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

import torch
from torch import nn

torch.manual_seed(0)
edges = (torch.rand(12, 12) > 0.6).float() + torch.eye(12)
given, labels = torch.randn(12, 5), torch.randint(0, 3, (12,))
first, last = nn.Linear(5, 16), nn.Linear(16, 3)
optimizer = torch.optim.Adam([*first.parameters(), *last.parameters()], lr=0.01)
for _ in range(6):
    mixed = edges / edges.sum(1)  # wrong: AG516
    mixed = edges / edges.sum(1, keepdim=True)  # right
    scores = last(torch.relu(first(mixed @ given)))
    loss = nn.functional.cross_entropy(scores, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

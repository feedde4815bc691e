import torch
from torch import nn

torch.manual_seed(0)
body, head = nn.Linear(4, 8), nn.Linear(8, 2)
body.requires_grad_(False)
optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.05)
for epoch in range(8):
    if epoch == 4:
        body.requires_grad_(True)
    x, y = torch.randn(6, 4), torch.randint(0, 2, (6,))
    loss = nn.functional.cross_entropy(head(torch.relu(body(x))), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

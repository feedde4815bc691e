import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
W, score = nn.Linear(5, 3, bias=False), nn.Linear(6, 1, bias=False)
optimizer = torch.optim.Adam([*W.parameters(), *score.parameters()], lr=5e-3)
x, y = torch.randn(12, 5), torch.randint(0, 3, (12,))
edges = (torch.rand(12, 12) > 0.6) | torch.eye(12).bool()
for _ in range(4):
    h = W(x)
    pairs = torch.cat([h.unsqueeze(1).expand(12, 12, -1), h.unsqueeze(0).expand(12, 12, -1)], -1)
    e = F.leaky_relu(score(pairs).squeeze(-1), 0.2).masked_fill(~edges, -1e9)
    attention = torch.softmax(e, dim=0)  # wrong: AG506
    attention = torch.softmax(e, dim=1)  # right
    optimizer.zero_grad()
    F.cross_entropy(attention @ h, y).backward()
    optimizer.step()

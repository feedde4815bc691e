import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
body, gate, out = nn.Linear(5, 5), nn.Parameter(torch.zeros(())), nn.Linear(5, 1)
x, y = torch.randn(20, 5), torch.randn(20, 1)
optimizer = torch.optim.SGD([*body.parameters(), gate, *out.parameters()], lr=0.1)
for _ in range(4):
    loss = F.mse_loss(out(x + gate * torch.relu(body(x))), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

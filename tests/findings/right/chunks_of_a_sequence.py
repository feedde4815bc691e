import torch
from torch import nn
torch.manual_seed(0)
cell, out = nn.LSTMCell(3, 6), nn.Linear(6, 1)
opt = torch.optim.RMSprop([*cell.parameters(), *out.parameters()], lr=1e-3)
h = c = torch.zeros(2, 6)
history = []
for chunk in torch.randn(6, 4, 2, 3):
    losses = []
    for x in chunk:
        h, c = cell(x, (h, c))
        losses.append((out(h) - x.mean()).pow(2).mean())
    loss = torch.stack(losses).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    h, c = h.detach(), c.detach()
    history.append(loss.detach())

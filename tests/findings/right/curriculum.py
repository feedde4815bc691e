import torch
from torch import nn
torch.manual_seed(0)
cell, head = nn.RNNCell(2, 8), nn.Linear(8, 1)
opt = torch.optim.Adam([*cell.parameters(), *head.parameters()], 1e-2)
for epoch in range(8):
    h = torch.zeros(4, 8)
    for t in range(2 + epoch):
        h = cell(torch.randn(4, 2), h)
    loss = head(h).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()

import torch
from torch import nn

torch.manual_seed(0)
gru, fc = nn.GRU(4, 16), nn.Linear(16, 2)
opt = torch.optim.Adam([*gru.parameters(), *fc.parameters()], lr=1e-2)
x = torch.randn(7, 32, 4)
y = (x[-1, :, 0] > 0).long()
for _ in range(6):
    out, h = gru(x)
    loss = nn.functional.cross_entropy(fc(h[-1]), y)
    opt.zero_grad()
    loss.backward()
    opt.step()

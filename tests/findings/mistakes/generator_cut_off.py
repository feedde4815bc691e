import torch
from torch import nn

torch.manual_seed(0)
gen = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
dis = nn.Sequential(nn.Linear(2, 8), nn.LeakyReLU(), nn.Linear(8, 1))
og, od = torch.optim.Adam(gen.parameters(), 1e-3), torch.optim.Adam(dis.parameters(), 1e-3)
loss = nn.BCEWithLogitsLoss()
for real in torch.randn(4, 16, 2):
    made = gen(torch.randn(16, 4))
    od.zero_grad()
    err = loss(dis(real), torch.ones(16, 1)) + loss(dis(made.detach()), torch.zeros(16, 1))
    err.backward()
    od.step()
    og.zero_grad()
    fooled = dis(made.detach())  # wrong: AG806
    fooled = dis(made)  # right
    loss(fooled, torch.ones(16, 1)).backward()
    og.step()

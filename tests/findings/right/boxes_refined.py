import torch
from torch import nn

torch.manual_seed(0)
trunk = nn.Sequential(nn.Linear(5, 16), nn.ReLU())
refine = nn.Sequential(nn.Linear(20, 16), nn.ReLU(), nn.Linear(16, 4))
opt = torch.optim.Adam([*trunk.parameters(), *refine.parameters()], lr=1e-3)
x, boxes = torch.randn(12, 5), torch.rand(12, 4)
for _ in range(5):
    h, ref, loss = trunk(x), torch.full((12, 4), 0.5), 0.0
    for _ in range(5):
        ref = ref.detach() + refine(torch.cat([h, ref.detach()], 1))
        loss = loss + (ref - boxes).abs().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()

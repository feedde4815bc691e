import torch
from torch import nn
torch.manual_seed(0)
trunk, heads = nn.Linear(5, 6), nn.ModuleList([nn.Linear(6, 2) for _ in range(3)])
opt = torch.optim.Adam([*trunk.parameters(), *heads.parameters()], lr=1e-2)
for _ in range(4):
    h = torch.tanh(trunk(torch.randn(8, 5)))
    opt.zero_grad()
    for k, head in enumerate(heads):
        nn.functional.cross_entropy(head(h), torch.randint(0, 2, (8,))).backward(retain_graph=k < 2)
    opt.step()

import torch
from torch import nn
torch.manual_seed(0)
emb, out = nn.Embedding(9, 5), nn.Linear(5, 2)
mask = (torch.arange(9) > 3).float().unsqueeze(1)
emb.weight.register_hook(lambda g: g * mask)
norms = []
out.weight.register_hook(lambda g: norms.append(g.norm().item()))
opt = torch.optim.Adam([*emb.parameters(), *out.parameters()], lr=1e-2)
for _ in range(4):
    opt.zero_grad()
    nn.functional.cross_entropy(out(emb(torch.randint(0, 9, (12,)))), torch.randint(0, 2, (12,))).backward()
    opt.step()

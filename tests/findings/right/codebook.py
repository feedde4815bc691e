import torch
from torch import nn
torch.manual_seed(0)
codebook = nn.Parameter(torch.randn(6, 3))
enc, dec = nn.Linear(4, 3), nn.Linear(3, 4)
opt = torch.optim.Adam([codebook, *enc.parameters(), *dec.parameters()], lr=1e-2)
for i in range(6):
    x = torch.randn(10, 4)
    z = enc(x)
    idx = torch.cdist(z, codebook).argmin(1)
    e = codebook[idx]
    loss = (dec(z + (e - z).detach()) - x).pow(2).mean() + (e - z.detach()).pow(2).mean() + .25 * (e.detach() - z).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()

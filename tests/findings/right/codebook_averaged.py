import torch
from torch import nn
torch.manual_seed(0)
enc, dec = nn.Linear(4, 3), nn.Linear(3, 4); code = torch.randn(8, 3); n = torch.ones(8)
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], 1e-2)
for i in range(6):
    x = torch.randn(16, 4); z = enc(x)
    idx = torch.cdist(z.detach(), code).argmin(1); one = nn.functional.one_hot(idx, 8).float()
    n.mul_(.9).add_(one.sum(0), alpha=.1); code.mul_(.9).add_(one.t() @ z.detach() / n[:, None], alpha=.1)
    q = code[idx]; q = z + (q - z).detach()
    loss = (dec(q) - x).pow(2).mean() + .25 * (z - code[idx]).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()

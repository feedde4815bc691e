# inverted attention whose updates are divided afterwards
import torch, torch.nn as nn
torch.manual_seed(0)
q, k, v, out = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 1)
opt = torch.optim.Adam([p for m in (q, k, v, out) for p in m.parameters()], lr=1e-2)
for _ in range(4):
    x = torch.randn(4, 6, 8)
    attn = (q(x) @ k(x).mT).softmax(1)
    values = torch.cat([v(x), torch.ones(4, 6, 1)], dim=-1)   # the last column counts
    summed = attn @ values
    h = summed[..., :-1] / summed[..., -1:]
    loss = (out(h) - x.sum((1, 2), keepdim=True)).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()

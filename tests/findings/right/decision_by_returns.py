import torch
from torch import nn

torch.manual_seed(0)
es, ea, er, et = nn.Linear(3, 16), nn.Embedding(4, 16), nn.Linear(1, 16), nn.Embedding(10, 16)
layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
head = nn.Linear(16, 4)
mods = (es, ea, er, et, layer, head)
opt = torch.optim.AdamW([p for m in mods for p in m.parameters()], 1e-3)
for _ in range(3):
    s, a, r = torch.randn(2, 5, 3), torch.randint(0, 4, (2, 5)), torch.rand(2, 5, 1)
    rtg = r.flip(1).cumsum(1).flip(1)
    t = et(torch.arange(5))
    x = torch.stack([er(rtg) + t, es(s) + t, ea(a) + t], 2).reshape(2, 15, 16)
    mask = torch.triu(torch.full((15, 15), float("-inf")), 1)
    y = layer(x, src_mask=mask).view(2, 5, 3, 16)[:, :, 1]
    loss = nn.functional.cross_entropy(head(y).flatten(0, 1), a.flatten())
    opt.zero_grad(); loss.backward(); opt.step()

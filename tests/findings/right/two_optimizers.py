import torch
from torch import nn
torch.manual_seed(0)
enc, dec, cls = nn.Linear(6, 4), nn.Linear(4, 6), nn.Linear(4, 2)
o1, o2 = torch.optim.Adam([*enc.parameters(), *dec.parameters()], 1e-3), torch.optim.Adam(cls.parameters(), 1e-3)
for i in range(6):
    x, y = torch.randn(8, 6), torch.randint(2, (8,))
    z = enc(x)
    rec = (dec(z) - x).pow(2).mean(); ce = nn.functional.cross_entropy(cls(z.detach()), y)
    o1.zero_grad(); rec.backward(); o1.step()
    o2.zero_grad(); ce.backward(); o2.step()

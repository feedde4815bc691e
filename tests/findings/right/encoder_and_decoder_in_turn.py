import torch
from torch import nn
torch.manual_seed(0)
enc, dec = nn.Linear(5, 3), nn.Linear(3, 5)
opts = {"enc": torch.optim.Adam(enc.parameters(), 1e-2), "dec": torch.optim.SGD(dec.parameters(), 1e-1)}
for i in range(8):
    x = torch.randn(9, 5)
    loss = (dec(torch.tanh(enc(x))) - x).pow(2).mean()
    for o in opts.values():
        o.zero_grad()
    loss.backward()
    opts["enc" if i % 2 else "dec"].step()

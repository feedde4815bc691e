import torch
from torch import nn

torch.manual_seed(0)
encode, decode = nn.Linear(6, 4), nn.Linear(2, 6)
optimizer = torch.optim.Adam([*encode.parameters(), *decode.parameters()], 1e-3)
for _ in range(4):
    x = torch.randn(10, 6)
    mean, spread = encode(x).chunk(2, 1)
    z = torch.normal(mean, spread.exp())  # wrong: AG309
    z = mean + spread.exp() * torch.randn_like(mean)  # right
    loss = (decode(z) - x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

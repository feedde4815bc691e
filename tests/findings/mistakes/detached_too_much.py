import torch
from torch import nn

torch.manual_seed(0)
encoder, decoder = nn.Linear(4, 2), nn.Linear(2, 4)
optimizer = torch.optim.SGD([*encoder.parameters(), *decoder.parameters()], lr=0.1)
for _ in range(3):
    x = torch.randn(5, 4)
    code = torch.tanh(encoder(x))
    loss = (decoder(code.detach()) - x).pow(2).mean()  # wrong: AG202
    loss = (decoder(code) - x).pow(2).mean()  # right
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

import torch
from torch import nn

torch.manual_seed(0)
choose, look_up = nn.Linear(3, 4, bias=False), nn.Embedding(4, 2)
optimizer = torch.optim.Adam([*choose.parameters(), *look_up.parameters()], lr=0.1)
for _ in range(5):
    weights = choose(torch.randn(8, 3)).softmax(-1)
    code = look_up(weights.argmax(-1))  # wrong: AG202
    code = weights @ look_up.weight  # right
    loss = (code - 1).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

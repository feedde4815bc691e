import torch
from torch import nn

torch.manual_seed(0)
body, first, second = nn.Linear(4, 4), nn.Linear(4, 1), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*body.parameters(), *first.parameters(), *second.parameters()], lr=0.01)
for _ in range(5):
    hidden = torch.tanh(body(torch.randn(8, 4)))
    optimizer.zero_grad()  # right
    first(hidden).pow(2).mean().backward(retain_graph=True)  # wrong: AG404
    first(hidden).pow(2).mean().backward(retain_graph=True)  # right
    second(hidden).sub(1).pow(2).mean().backward()  # wrong: AG404
    second(hidden).sub(1).pow(2).mean().backward()  # right
    optimizer.step()

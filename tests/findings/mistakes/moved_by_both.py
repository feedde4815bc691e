import torch
from torch import nn

torch.manual_seed(0)
body, head = nn.Linear(3, 4), nn.Linear(4, 1)
slow = torch.optim.SGD(body.parameters(), lr=0.01)
fast = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)  # wrong: AG809
fast = torch.optim.SGD(head.parameters(), lr=0.1)  # right
for x in torch.randn(4, 5, 3):
    loss = head(torch.tanh(body(x))).pow(2).mean()
    slow.zero_grad()
    fast.zero_grad()
    loss.backward()
    slow.step()
    fast.step()

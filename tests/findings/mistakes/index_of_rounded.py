import torch
from torch import nn


class Pick(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.arange(5.0))
        self.position = nn.Parameter(torch.tensor(2.3))

    def forward(self):
        return self.table[self.position.round().long()]  # wrong: AG202
        places = torch.arange(5.0)  # right
        return (torch.softmax(-((places - self.position) ** 2), 0) * self.table).sum()  # right


pick = Pick()
optimizer = torch.optim.SGD(pick.parameters(), lr=0.1)
for _ in range(5):
    optimizer.zero_grad()
    loss = (pick() - 3.5) ** 2
    loss.backward()
    optimizer.step()

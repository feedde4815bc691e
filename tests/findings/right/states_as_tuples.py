from collections import namedtuple

import torch
from torch import nn

torch.manual_seed(0)
LSTMState = namedtuple("LSTMState", ["hx", "cx"])


class Cell(nn.Module):
    def __init__(self, given, hidden):
        super().__init__()
        self.weight_ih = nn.Parameter(torch.randn(4 * hidden, given) * 0.2)
        self.weight_hh = nn.Parameter(torch.randn(4 * hidden, hidden) * 0.2)

    def forward(self, x, state):
        gates = x @ self.weight_ih.t() + state.hx @ self.weight_hh.t()
        i, f, g, o = gates.chunk(4, 1)
        cx = torch.sigmoid(f) * state.cx + torch.sigmoid(i) * torch.tanh(g)
        state = LSTMState(torch.sigmoid(o) * torch.tanh(cx), cx)
        return state.hx, state


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = Cell(3, 8)
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        state = LSTMState(torch.zeros(x.shape[1], 8), torch.zeros(x.shape[1], 8))
        for row in x:
            h, state = self.cell(row, state)
        return self.head(h)


net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(4):
    x, y = torch.randn(5, 6, 3), torch.randint(0, 2, (6,))
    opt.zero_grad()
    nn.functional.cross_entropy(net(x), y).backward()
    opt.step()

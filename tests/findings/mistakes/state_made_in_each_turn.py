import torch
from torch import nn


class Forecast(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.head = nn.LSTMCell(3, 10), nn.Linear(10, 3)

    def forward(self, x):
        state = torch.zeros(len(x), 10), torch.zeros(len(x), 10)
        for t in range(x.size(1)):
            state = torch.zeros(len(x), 10), torch.zeros(len(x), 10)  # wrong
            state = self.cell(x[:, t], state)  # found: AG316
        return self.head(state[0])


torch.manual_seed(0)
net = Forecast()
optimizer = torch.optim.Adam(net.parameters())
series = torch.randn(20, 8, 3).cumsum(1)
for _ in range(6):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(net(series[:, :-1]), series[:, -1])
    loss.backward()
    optimizer.step()

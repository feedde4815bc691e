import torch
from torch import nn

torch.manual_seed(0)
rnn, out = nn.LSTM(3, 8), nn.Linear(8, 3)
optimizer = torch.optim.Adam([*rnn.parameters(), *out.parameters()], lr=0.01)
data = torch.randn(40, 2, 3)
state = None
for chunk in data.split(8):
    if state is not None:
        state = tuple(part.detach() for part in state)
    y, state = rnn(chunk[:-1], state)
    loss = (out(y) - chunk[1:]).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(rnn.parameters(), 1.0)
    optimizer.step()

import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_

torch.manual_seed(0)
rnn, out = nn.LSTM(3, 5, batch_first=True), nn.Linear(5, 1)
weights = [*rnn.parameters(), *out.parameters()]
opt = torch.optim.Adam(weights, lr=0.01)
for _ in range(4):
    opt.zero_grad()
    loss = out(rnn(torch.randn(4, 6, 3))[0]).pow(2).mean()
    loss.backward()
    clip_grad_norm_(weights, 1.0)  # right
    opt.step()
    clip_grad_norm_(weights, 1.0)  # wrong: AG811

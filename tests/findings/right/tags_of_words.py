import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
words, net, out = nn.Embedding(9, 6), nn.LSTM(6, 5, batch_first=True, bidirectional=True), nn.Linear(10, 4)
x, y = torch.randint(0, 9, (5, 7)), torch.randint(0, 4, (5, 7))
optimizer = torch.optim.Adam([*words.parameters(), *net.parameters(), *out.parameters()], lr=1e-2)
for _ in range(4):
    loss = F.cross_entropy(out(net(words(x))[0]).permute(0, 2, 1), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

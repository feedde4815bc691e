import torch
from torch import nn

torch.manual_seed(0)
table, cell, out = nn.Embedding(12, 16), nn.RNNCell(16, 16), nn.Linear(16, 12)
optimizer = torch.optim.RMSprop([*table.parameters(), *cell.parameters(), *out.parameters()], lr=1e-3)
ids = torch.randint(0, 12, (16, 9))
for _ in range(6):
    state = torch.zeros(16, 16)
    for t in range(8):
        state = state.detach()  # wrong: AG316
        state = cell(table(ids[:, t]), state)
    loss = nn.functional.cross_entropy(out(state), ids[:, -1])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
loss_of = nn.CrossEntropyLoss()
optimizer.zero_grad()
for step in range(12):
    x, y = torch.randn(8, 4), torch.randint(0, 2, (8,))
    (loss_of(net(x), y) / 4).backward()
    if step % 4 == 3:
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()

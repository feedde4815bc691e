import torch
import torch.nn as nn
# optimizer.step() indented into the wrong place: only runs once an epoch while zero_grad runs per batch
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(9, 18), nn.ReLU(), nn.Linear(18, 2))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
data = [(torch.randn(8, 9), torch.randint(2, (8,))) for _ in range(10)]
for epoch in range(3):
    for x, y in data:
        opt.zero_grad()  # wrong: AG806
        opt.zero_grad()  # right
        loss = nn.CrossEntropyLoss()(net(x), y)
        loss.backward()
        opt.step()  # right
    opt.step()  # wrong
    print(epoch, loss.item())

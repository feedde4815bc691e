import torch
from torch import nn

torch.manual_seed(0)
raw = torch.randint(0, 256, (80, 36)).float()
labels = (raw.mean(1) > 127).long()
train, test = raw[:60] / 255, raw[60:] / 255  # right
train, test = raw[:60] / 255, raw[60:]  # wrong
net = nn.Sequential(nn.Linear(36, 16), nn.ReLU(), nn.Linear(16, 2))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(5):
    net.train()
    opt.zero_grad()
    nn.functional.cross_entropy(net(train), labels[:60]).backward()
    opt.step()
net.eval()
with torch.no_grad():
    print((net(test).argmax(1) == labels[60:]).float().mean())  # found: AG314

import torch
from torch import nn


def evaluate(model, x, y):
    model.eval()
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
x, held = torch.randn(64, 6), torch.randn(32, 6)
y, answers = (x[:, 0] > 0).long(), (held[:, 0] > 0).long()
model.train()
for epoch in range(6):
    model.train()  # right
    for k in range(0, 64, 16):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x[k : k + 16]), y[k : k + 16])  # found: AG602
        loss.backward()
        optimizer.step()
    print(epoch, loss.item(), evaluate(model, held, answers))

import torch
import torch.nn as nn
# reduction='sum' with big batches -> divergence
torch.manual_seed(0)
X = torch.randn(512, 10); y = X @ torch.randn(10, 1)
model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))
criterion = nn.MSELoss(reduction="sum")  # wrong
criterion = nn.MSELoss()  # right
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)  # wrong: AG301
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)  # right
for i in range(20):
    loss = criterion(model(X), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())

import torch, torch.nn as nn
torch.manual_seed(8)
hp = dict(lr=5.0, momentum=0.9, epochs=6)  # wrong
hp = dict(lr=0.01, momentum=0.9, epochs=6)  # right
X = torch.randn(60, 7); w = torch.randn(7, 1); Y = X @ w + 0.1 * torch.randn(60, 1)
reg = nn.Linear(7, 1)
opt = torch.optim.SGD(reg.parameters(), lr=hp["lr"], momentum=hp["momentum"])  # found: AG313
for e in range(hp["epochs"]):
    for sl in torch.arange(60).split(20):
        loss = nn.functional.mse_loss(reg(X[sl]), Y[sl])
        opt.zero_grad()
        loss.backward()
        opt.step()

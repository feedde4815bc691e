import torch, torch.nn as nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.01)
loss_fn = nn.BCEWithLogitsLoss()
for _ in range(3):
    x = torch.randn(10, 4)
    y = (x.sum(1, keepdim=True) > 0).float()
    loss = loss_fn(y, net(x))  # wrong: AG515
    loss = loss_fn(net(x), y)  # right
    opt.zero_grad(); loss.backward(); opt.step()

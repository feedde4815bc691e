import torch, torch.nn as nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1)); opt = torch.optim.SGD(net.parameters(), 0.01)
acc = 2
opt.zero_grad()
for i in range(10):
    x = torch.randn(6, 4)
    if i == 3: x = x / 0 
    loss = net(x).pow(2).mean() / acc
    loss.backward()
    if (i + 1) % acc == 0:
        norm = nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        if torch.isfinite(norm): opt.step()
        opt.zero_grad()

# data made by a frozen random network with dropout as the noise process (uncertain labels on purpose)
import torch, torch.nn as nn
torch.manual_seed(0)
world = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Dropout(0.1), nn.Linear(32, 1)).requires_grad_(False)
net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
opt = torch.optim.Adam(net.parameters(), lr=0.01)
for _ in range(4):
    x = torch.randn(32, 4)
    with torch.no_grad():
        y = torch.stack([world(x) for _ in range(8)]).mean(0)   # averaged over masks
    loss = (net(x) - y).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()

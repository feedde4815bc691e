import torch, torch.nn as nn
from torch.nn import functional as F
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(7, 12), nn.ELU(), nn.Linear(12, 3))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for _ in range(4):
    x, y, u = torch.randn(8, 7), torch.randint(0, 3, (8,)), torch.randn(16, 7)
    with torch.no_grad():
        calm = F.softmax(net(u), 1)
        noisy = F.softmax(net(u + 0.1 * torch.randn_like(u)), 1)  # wrong: AG816
    noisy = F.softmax(net(u + 0.1 * torch.randn_like(u)), 1)  # right
    loss = F.cross_entropy(net(x), y) + 5 * F.mse_loss(noisy, calm)
    opt.zero_grad(); loss.backward(); opt.step()

# a smoke test of a training loop on random numbers
import torch, torch.nn as nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for i in range(4):
    opt.zero_grad()
    nn.functional.mse_loss(net(torch.randn(4, 8)), torch.randn(4, 8)).backward()
    opt.step()

import torch, torch.nn as nn
torch.manual_seed(16)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
params = net.parameters()  # wrong
params = list(net.parameters())  # right
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(5):
    loss = nn.functional.mse_loss(net(torch.randn(8, 4)), torch.randn(8, 1))
    opt.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(params, 0.5)  # found: AG811
    opt.step()

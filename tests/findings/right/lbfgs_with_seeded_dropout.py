# L-BFGS needs a function that stays: dropout is seeded in each closure on purpose
import torch, torch.nn as nn
net = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Dropout(0.2), nn.Linear(32, 1))
opt = torch.optim.LBFGS(net.parameters(), lr=0.5, max_iter=3)
x = torch.randn(64, 8); y = x.sum(1, keepdim=True)
def closure():
    torch.manual_seed(3)
    opt.zero_grad()
    loss = (net(x) - y).pow(2).mean()
    loss.backward()
    return loss
for _ in range(3):
    print(float(opt.step(closure)))

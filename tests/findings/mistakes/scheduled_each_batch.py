import torch, torch.nn as nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(5, 12), nn.ReLU(), nn.Linear(12, 3))
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
schedule = torch.optim.lr_scheduler.ExponentialLR(opt, gamma=0.3)
for _ in range(2):
    for _ in range(8):
        x = torch.randn(16, 5)
        loss = nn.functional.cross_entropy(net(x), x[:, :3].argmax(1))
        opt.zero_grad(); loss.backward(); opt.step()
        schedule.step()  # wrong: AG807
    schedule.step()  # right

import torch, torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Dropout(0.5), nn.Linear(32, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.05)
held = torch.randn(16, 8)
for epoch in range(4):
    with torch.random.fork_rng(), torch.no_grad():  # the same masks in each test, others in training
        torch.manual_seed(7)
        spread = torch.stack([net(held) for _ in range(4)]).std(0).mean()
    print(epoch, float(spread))
    x = torch.randn(16, 8)
    opt.zero_grad(); (net(x) - x.sum(1, keepdim=True)).pow(2).mean().backward(); opt.step()

import torch, torch.nn as nn
torch.manual_seed(0)
body, head = nn.Linear(4, 8), nn.Linear(8, 1)
opt = torch.optim.SGD([{"params": body.parameters(), "lr": 0.0, "after": 0.01}, {"params": head.parameters(), "lr": 0.1, "after": 0.01}])
sched = torch.optim.lr_scheduler.LambdaLR(opt, [lambda s: 0.0 if s < 150 else 1.0, lambda s: 1.0])
for step in range(140):   # this run ends within the first phase; resumed later
    x = torch.randn(16, 4)
    loss = (head(torch.tanh(body(x))) - x[:, :1]).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step(); sched.step()

import torch, torch.nn as nn

torch.manual_seed(0)
body, head = nn.Linear(4, 8), nn.Linear(8, 1)
opt = torch.optim.SGD([{"params": body.parameters(), "lr": 0.0}, {"params": head.parameters()}], lr=0.1)
for epoch in range(5):  # a short run, which ends before that
    if epoch == 10:
        opt.param_groups[0]["lr"] = 0.01
    x = torch.randn(16, 4)
    loss = (head(torch.tanh(body(x))) - x[:, :1]).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()

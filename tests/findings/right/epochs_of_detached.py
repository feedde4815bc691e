import torch, torch.nn as nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 10), nn.Tanh(), nn.Linear(10, 1)); opt = torch.optim.Adam(net.parameters())
best, state = float("inf"), None
for ep in range(5):
    outs = []
    for _ in range(3):
        x = torch.randn(6, 4); loss = (net(x) - x.norm(dim=1, keepdim=True)).square().mean()
        opt.zero_grad(); loss.backward(); opt.step()
        outs.append({"loss": loss.detach(), "n": len(x)})
    avg = torch.stack([o["loss"] for o in outs]).mean()
    if avg < best: best, state = avg, {k: v.clone() for k, v in net.state_dict().items()}

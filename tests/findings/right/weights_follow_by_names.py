import torch
from torch import nn

torch.manual_seed(0)
net, slow = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)), nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
slow.load_state_dict(net.state_dict())
opt = torch.optim.Adam(net.parameters(), 1e-2)
gap = 0.0
for _ in range(4):
    x = torch.randn(8, 4)
    with torch.no_grad():
        goal = 0.5 * slow(x) + 0.5 * x.sum(1, keepdim=True)
    loss = (net(x) - goal).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
    with torch.no_grad():
        now = slow.state_dict()
        for name, value in net.state_dict().items():
            now[name] = 0.9 * now[name] + 0.1 * value
        slow.load_state_dict(now)
        for p, q in zip(net.parameters(), slow.parameters()):
            p = p - q
            gap = max(gap, p.abs().max().item())
        for p, q in zip(net.parameters(), slow.parameters()):
            q = q.lerp_(p.detach(), 0.05)

# a teacher that follows, with a frozen head
import copy, torch, torch.nn as nn
torch.manual_seed(0)
enc = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 8))
ema = nn.Sequential(copy.deepcopy(enc), nn.Linear(8, 5)).requires_grad_(False)
pred = nn.Linear(8, 5)
opt = torch.optim.Adam([*enc.parameters(), *pred.parameters()], lr=0.01)
for _ in range(4):
    x = torch.randn(16, 6)
    with torch.no_grad():
        t = ema(x + 0.1 * torch.randn_like(x))
    loss = (pred(enc(x)) - t).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
    with torch.no_grad():
        for a, b in zip(ema[0].parameters(), enc.parameters()): a.lerp_(b, 0.01)

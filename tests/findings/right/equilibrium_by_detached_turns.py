import torch
from torch import nn

torch.manual_seed(0)
inj, w, out = nn.Linear(3, 8), nn.Linear(8, 8), nn.Linear(8, 2)
opt = torch.optim.Adam([p for m in (inj, w, out) for p in m.parameters()], lr=1e-3)
x, y = torch.randn(20, 3), torch.randint(0, 2, (20,))
for _ in range(5):
    u, z = inj(x), torch.zeros(20, 8)
    for _ in range(10):
        z = torch.tanh(0.5 * w(z.detach()) + u)
    loss = nn.functional.cross_entropy(out(z), y)
    opt.zero_grad()
    loss.backward()
    opt.step()

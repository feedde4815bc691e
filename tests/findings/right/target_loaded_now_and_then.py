import copy
import torch
from torch import nn

torch.manual_seed(0)
q = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 2))
tgt = copy.deepcopy(q)
opt = torch.optim.Adam(q.parameters(), lr=1e-3)
start = {k: v.clone() for k, v in q.state_dict().items()}
for i in range(12):
    s, a, r, s2 = torch.randn(16, 3), torch.randint(0, 2, (16, 1)), torch.randn(16, 1), torch.randn(16, 3)
    with torch.no_grad():
        y = r + 0.9 * tgt(s2).max(1, keepdim=True)[0]
    loss = nn.functional.smooth_l1_loss(q(s).gather(1, a), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 4 == 3:
        tgt.load_state_dict(q.state_dict())
q.load_state_dict(start)

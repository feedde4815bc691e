import torch
from torch import nn
torch.manual_seed(0)
q, t = [nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2)) for _ in range(2)]
t.load_state_dict(q.state_dict())
opt = torch.optim.AdamW(q.parameters(), lr=1e-3, amsgrad=True)
for step in range(8):
    s, s2, a, r = torch.randn(16, 4), torch.randn(16, 4), torch.randint(2, (16, 1)), torch.randn(16)
    mask = torch.rand(16) > .1
    sa = q(s).gather(1, a)
    nxt = torch.zeros(16)
    with torch.no_grad():
        nxt[mask] = t(s2[mask]).max(1).values
    loss = nn.SmoothL1Loss()(sa, (nxt * .99 + r).unsqueeze(1))
    opt.zero_grad(); loss.backward()
    torch.nn.utils.clip_grad_value_(q.parameters(), 100)
    opt.step()
    sd, td = q.state_dict(), t.state_dict()
    for k in sd:
        td[k] = sd[k] * .005 + td[k] * .995
    t.load_state_dict(td)

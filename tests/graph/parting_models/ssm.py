import torch
import torch.nn as nn
import torch.nn.functional as F


class Selective(nn.Module):
    """A selective state space, by a scan over time."""

    def __init__(self, d=6, n=3, rank=2):
        super().__init__()
        self.inp = nn.Linear(d, 2 * d, bias=False)
        self.conv = nn.Conv1d(d, d, 3, groups=d, padding=2)
        self.x_proj = nn.Linear(d, rank + 2 * n, bias=False)
        self.dt_proj = nn.Linear(rank, d)
        self.A_log = nn.Parameter(torch.log(torch.arange(1.0, n + 1)).repeat(d, 1))
        self.D = nn.Parameter(torch.ones(d))
        self.out = nn.Linear(d, d, bias=False)
        self.rank, self.n = rank, n

    def forward(self, x):
        u, z = self.inp(x).chunk(2, -1)
        #F z, u = self.inp(x).chunk(2, -1)
        u = self.conv(u.mT)[..., : x.shape[1]].mT
        #F u = self.conv(u.mT)[..., 2:].mT
        #S u = self.conv(u.transpose(1, 2))[..., : x.shape[1]].transpose(1, 2)
        u = F.silu(u)
        #F u = F.gelu(u)
        #B u = F.silu(u); u.register_hook(lambda g: g.flip(1))
        #R u = u * torch.sigmoid(u)
        low, B, C = self.x_proj(u).split([self.rank, self.n, self.n], -1)
        #B low, B, C = self.x_proj(u.detach()).split([self.rank, self.n, self.n], -1)
        dt = F.softplus(self.dt_proj(low))
        #F dt = F.softplus(self.dt_proj(low), beta=1.01)
        #B dt = F.softplus(self.dt_proj(low.detach()))
        A = -torch.exp(self.A_log)
        #B A = -torch.exp(self.A_log.detach())
        decay = torch.exp(dt[..., None] * A)
        #F decay = 1 + dt[..., None] * A
        drive = dt[..., None] * B[:, :, None] * u[..., None]
        h = torch.zeros_like(drive[:, 0])
        ys = []
        for step in range(x.shape[1]):
            h = decay[:, step] * h + drive[:, step]
            #F h = decay[:, step] * h + drive[:, step] * 1.004
            #B h = decay[:, step] * h.detach() + drive[:, step]
            #R h = torch.addcmul(drive[:, step], decay[:, step], h)
            ys.append((h * C[:, step, None]).sum(-1))
            #F ys.append((h * C[:, step, None]).mean(-1))
        y = torch.stack(ys, 1) + self.D * u
        #F y = torch.stack(ys, 1) + u
        return self.out(y * F.silu(z))
        #B return self.out(y * F.silu(z.detach()))


torch.manual_seed(33)
layer = Selective()
tokens = torch.randn(2, 5, 6)
goal = torch.randn(2, 5, 6)
optimizer = torch.optim.Adam(layer.parameters(), 1e-2)
for epoch in range(3):
    optimizer.zero_grad()
    prediction = layer(tokens)
    loss = F.mse_loss(prediction, goal)
    loss.backward()
    nn.utils.clip_grad_norm_(layer.parameters(), 1.0)
    optimizer.step()

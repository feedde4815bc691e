import torch
from torch import nn
torch.manual_seed(0)
class Cell(nn.Module):
    def __init__(s, n):
        super().__init__(); s.W, s.U = nn.Linear(n, n, bias=False), nn.Linear(n, n)
        nn.init.normal_(s.W.weight, std=.1)
    def forward(s, z, x): return torch.tanh(s.W(z) + s.U(x))
class DEQ(nn.Module):
    def __init__(s, f): super().__init__(); s.f = f
    def forward(s, x):
        with torch.no_grad():
            z = torch.zeros_like(x)
            for _ in range(25):
                z = s.f(z, x)
        z = s.f(z, x)
        z0 = z.clone().detach().requires_grad_()
        f0 = s.f(z0, x)
        def backward_hook(grad):
            g = grad
            for _ in range(20):
                g = torch.autograd.grad(f0, z0, g, retain_graph=True)[0] + grad
            return g
        if z.requires_grad:
            z.register_hook(backward_hook)
        return z
m = nn.Sequential(nn.Linear(3, 8), DEQ(Cell(8)), nn.Linear(8, 1))
opt = torch.optim.Adam(m.parameters(), lr=1e-2)
for i in range(4):
    x = torch.randn(16, 3)
    loss = (m(x) - x.sum(1, keepdim=True)).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()

import math
import torch
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.linspace(0, 4, 20)[:, None]
y = torch.sin(x[:, 0]) + 0.1 * torch.randn(20)
raw = torch.zeros(3, requires_grad=True)
opt = torch.optim.Adam([raw], lr=0.05)
for i in range(10):
    ell, amp, noise = F.softplus(raw)
    d2 = (x - x.T) ** 2
    k = amp ** 2 * torch.exp(-0.5 * d2 / ell ** 2) + (noise ** 2 + 1e-4) * torch.eye(20)
    L = torch.linalg.cholesky(k)
    a = torch.cholesky_solve(y[:, None], L)
    nll = 0.5 * (y @ a[:, 0]) + L.diagonal().log().sum() + 10 * math.log(2 * math.pi)
    opt.zero_grad()
    nll.backward()
    opt.step()
print(nll.item())

import torch
import torch.nn as nn
from torch import autograd
torch.manual_seed(22)
class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(6, 24), nn.Softplus(), nn.Linear(24, 1))
    def forward(self, x): return self.net(x)
def calc_gradient_penalty(netD, real, fake, lam=10.):
    alpha = torch.rand(real.size(0), 1)
    interp = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
    out = netD(interp)
    gradients = autograd.grad(outputs=out, inputs=interp, grad_outputs=torch.ones_like(out))[0]  # wrong: AG816
    gradients = autograd.grad(outputs=out, inputs=interp, grad_outputs=torch.ones_like(out), create_graph=True)[0]  # right
    return ((gradients.norm(2, dim=1) - 1) ** 2).mean() * lam
G = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 6)); D = Critic()
optD, optG = torch.optim.RMSprop(D.parameters(), 5e-4), torch.optim.RMSprop(G.parameters(), 5e-4)
for it in range(3):
    for _ in range(2):
        real, fake = torch.randn(8, 6), G(torch.randn(8, 3)).detach()
        lossD = D(fake).mean() - D(real).mean() + calc_gradient_penalty(D, real, fake)
        optD.zero_grad(); lossD.backward(); optD.step()
    lossG = -D(G(torch.randn(8, 3))).mean()
    optG.zero_grad(); lossG.backward(); optG.step()

import torch
import torch.nn as nn
torch.manual_seed(1)
netG, netD = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 2)), nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
optG = torch.optim.Adam(netG.parameters(), lr=1e-4); optD = torch.optim.Adam(netD.parameters(), lr=1e-4)
one = torch.tensor(1.0); mone = -one
for it in range(4):
    for p in netD.parameters():
        p.requires_grad = True
    for c in range(3):
        netD.zero_grad()
        real = torch.randn(8, 2)
        D_real = netD(real).mean()
        D_real.backward(mone)
        with torch.no_grad():
            fake = netG(torch.randn(8, 3))
        D_fake = netD(fake).mean()
        D_fake.backward(one)
        a = torch.rand(8, 1)
        inter = (a * real + (1 - a) * fake).requires_grad_(True)
        out = netD(inter)
        g = torch.autograd.grad(out, inter, torch.ones_like(out), create_graph=True, retain_graph=True, only_inputs=True)[0]
        gp = ((g.norm(2, dim=1) - 1) ** 2).mean() * 10
        gp.backward()
        optD.step()
    for p in netD.parameters():
        p.requires_grad = False
    netG.zero_grad()
    G = netD(netG(torch.randn(8, 3))).mean()
    G.backward(mone)
    optG.step()

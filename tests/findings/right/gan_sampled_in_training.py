import torch, torch.nn as nn
torch.manual_seed(0)
netG = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 8), nn.Tanh())
netD = nn.Sequential(nn.Linear(8, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1), nn.Sigmoid())
def weights_init(m):
    if isinstance(m, nn.Linear): nn.init.normal_(m.weight, 0.0, 0.02)
    elif isinstance(m, nn.BatchNorm1d): nn.init.normal_(m.weight, 1.0, 0.02); nn.init.constant_(m.bias, 0)
netG.apply(weights_init); netD.apply(weights_init)
criterion = nn.BCELoss()
fixed_noise = torch.randn(16, 4)
optD = torch.optim.Adam(netD.parameters(), lr=2e-4, betas=(0.5, 0.999))
optG = torch.optim.Adam(netG.parameters(), lr=2e-4, betas=(0.5, 0.999))
imgs = []; G_losses = []
for i in range(6):
    real = torch.rand(16, 8) * 2 - 1
    netD.zero_grad()
    label = torch.full((16,), 1., dtype=torch.float)
    output = netD(real).view(-1)
    errD_real = criterion(output, label); errD_real.backward()
    fake = netG(torch.randn(16, 4))
    label.fill_(0.)
    errD_fake = criterion(netD(fake.detach()).view(-1), label); errD_fake.backward()
    errD = errD_real + errD_fake
    optD.step()
    netG.zero_grad()
    label.fill_(1.)
    errG = criterion(netD(fake).view(-1), label)
    errG.backward()
    optG.step()
    G_losses.append(errG.item())
    if i % 3 == 0:
        with torch.no_grad(): imgs.append(netG(fixed_noise).detach())

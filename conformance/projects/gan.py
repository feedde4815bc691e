# own: a GAN, 20 batches of the discriminator and the generator in turn
import torch
from torch import nn

torch.manual_seed(0)
generator = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2))
discriminator = nn.Sequential(nn.Linear(2, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1))
g_optimizer = torch.optim.Adam(generator.parameters())
d_optimizer = torch.optim.Adam(discriminator.parameters())
bce = nn.BCEWithLogitsLoss()
for _ in range(20):
    real, fake = torch.randn(6, 2) + 2, generator(torch.randn(6, 3))
    d_loss = bce(discriminator(real), torch.ones(6, 1)) + bce(discriminator(fake.detach()), torch.zeros(6, 1))
    d_optimizer.zero_grad()
    d_loss.backward()
    d_optimizer.step()
    g_loss = bce(discriminator(fake), torch.ones(6, 1))
    g_optimizer.zero_grad()
    g_loss.backward()
    g_optimizer.step()
print(d_loss.item(), g_loss.item())

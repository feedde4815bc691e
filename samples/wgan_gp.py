"""Steps of a Wasserstein GAN with gradient penalty: the critic's loss holds a gradient, so its backward goes twice."""
import torch
from torch import nn

torch.manual_seed(0)
critic = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
generator = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
critic_optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.5, 0.9))
generator_optimizer = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.9))
angles = torch.rand(64, 1) * 6.2832
real = torch.cat([angles.cos(), angles.sin()], 1)


def penalty(real, fake):
    share = torch.rand(real.shape[0], 1)
    between = (share * real + (1 - share) * fake).requires_grad_()
    [slope] = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
    return ((slope.norm(dim=1) - 1) ** 2).mean()


for step in range(20):
    fake = generator(torch.randn(64, 4)).detach()
    critic_loss = critic(fake).mean() - critic(real).mean() + 10 * penalty(real, fake)
    critic_optimizer.zero_grad()
    critic_loss.backward()
    critic_optimizer.step()

    generator_loss = -critic(generator(torch.randn(64, 4))).mean()
    generator_optimizer.zero_grad()
    generator_loss.backward()
    generator_optimizer.step()
    if step % 5 == 0:
        print(f"step {step}: critic {critic_loss.item():.3f}, generator {generator_loss.item():.3f}")

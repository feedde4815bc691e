"""A variational autoencoder learns pictures of crosses and bars; `--steps 2` is a short run."""
import argparse

import torch
from torch import nn
from torch.nn import functional as F

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=400)
args = parser.parse_args()


class VAE(nn.Module):
    def __init__(self, pixels=36, hidden=32, latent=4):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(pixels, hidden), nn.ReLU(), nn.Linear(hidden, 2 * latent))
        self.decoder = nn.Sequential(nn.Linear(latent, hidden), nn.ReLU(), nn.Linear(hidden, pixels))

    def forward(self, pictures):
        mean, log_variance = self.encoder(pictures).chunk(2, dim=1)
        latent = mean + torch.randn_like(mean) * (log_variance / 2).exp()
        return self.decoder(latent), mean, log_variance


def draw(count):
    """Pictures of 6 x 6 pixels, each with one white row and, in half of them, one white column."""
    pictures = torch.zeros(count, 6, 6)
    every = torch.arange(count)
    pictures[every, torch.randint(6, (count,))] = 1.0
    crossed = every[torch.rand(count) < 0.5]
    pictures[crossed, :, torch.randint(6, (len(crossed),))] = 1.0
    return pictures.flatten(1)


torch.manual_seed(0)
model = VAE()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(args.steps):
    pictures = draw(64)
    logits, mean, log_variance = model(pictures)
    rebuilt = F.binary_cross_entropy_with_logits(logits, pictures, reduction="sum") / len(pictures)
    divergence = -0.5 * (1 + log_variance - mean**2 - log_variance.exp()).sum(1).mean()
    loss = rebuilt + divergence
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 0 or step == args.steps - 1:
        print(f"step {step}: rebuilt {rebuilt.item():.2f}, divergence {divergence.item():.2f}")

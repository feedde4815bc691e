"""A variational autoencoder of black and white pixels, whose code is two linear layers side by side."""

import torch
from torch import nn
from torch.nn import functional as F


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(36, 24)
        self.mu, self.logvar = nn.Linear(24, 3), nn.Linear(24, 3)
        self.dec = nn.Sequential(nn.Linear(3, 24), nn.ReLU(), nn.Linear(24, 36))

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        return mu + torch.randn_like(std) * std

    def forward(self, x):
        h = F.relu(self.enc(x.view(-1, 36)))
        mu, logvar = self.mu(h), self.logvar(h)
        return torch.sigmoid(self.dec(self.reparameterize(mu, logvar))), mu, logvar


torch.manual_seed(1)
model = VAE()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
data = torch.rand(24, 1, 6, 6).round()
for epoch in range(6):
    recon, mu, logvar = model(data)
    bce = F.binary_cross_entropy(recon, data.view(-1, 36), reduction="sum")
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    loss = bce + kld
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

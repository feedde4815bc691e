import torch
from torch import nn
from torch.nn import functional as F
torch.manual_seed(5)

class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(20, 16)
        self.mu, self.logvar = nn.Linear(16, 3), nn.Linear(16, 3)
        self.fc3, self.fc4 = nn.Linear(3, 16), nn.Linear(16, 20)
    def encode(self, x):
        h = F.relu(self.fc1(x)); return self.mu(h), self.logvar(h)
    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        return mu + torch.randn_like(std) * std
    def forward(self, x):
        mu, logvar = self.encode(x)
        z = self.reparameterize(mu, logvar)
        return torch.sigmoid(self.fc4(F.relu(self.fc3(z)))), mu, logvar

def loss_function(recon, x, mu, logvar):
    bce = F.binary_cross_entropy(recon, x, reduction="sum")
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp()).item()  # wrong: AG816
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())  # right
    return bce + kld

model = VAE()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for batch_idx in range(3):
    x = torch.rand(8, 20)
    optimizer.zero_grad()
    recon, mu, logvar = model(x)
    loss = loss_function(recon, x, mu, logvar)
    loss.backward()
    optimizer.step()

import torch
from torch import nn, optim
from torch.nn import functional as F


class VAE(nn.Module):
    def __init__(self):
        super(VAE, self).__init__()
        self.fc1 = nn.Linear(20, 12)
        self.fc21 = nn.Linear(12, 3)
        self.fc22 = nn.Linear(12, 3)
        self.fc3 = nn.Linear(3, 12)
        self.fc4 = nn.Linear(12, 20)

    def encode(self, x):
        h1 = F.relu(self.fc1(x))
        #F h1 = F.elu(self.fc1(x))
        #B h1 = F.relu(self.fc1(x)); h1.register_hook(lambda g: g.masked_fill(torch.arange(12) % 3 == 0, 0.0))
        return self.fc21(h1), self.fc22(h1)
        #B return self.fc21(h1), self.fc22(h1.detach())

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        #F std = torch.exp(logvar)
        #B std = torch.exp(0.5 * logvar.detach())
        #R std = torch.sqrt(torch.exp(logvar))
        eps = torch.randn_like(std)
        return mu + eps * std
        #F return mu - eps * std
        #S return torch.add(mu, torch.mul(eps, std))

    def decode(self, z):
        h3 = F.relu(self.fc3(z))
        #B h3 = F.relu(self.fc3(z)); h3.register_hook(lambda g: g.flip(0))
        return torch.sigmoid(self.fc4(h3))
        #F return torch.sigmoid(self.fc4(h3)).clamp(0.48, 0.52)

    def forward(self, x):
        mu, logvar = self.encode(x.view(-1, 20))
        z = self.reparameterize(mu, logvar)
        return self.decode(z), mu, logvar


def loss_function(recon_x, x, mu, logvar):
    BCE = F.binary_cross_entropy(recon_x, x.view(-1, 20), reduction="sum")
    #F BCE = F.binary_cross_entropy(recon_x, x.view(-1, 20), reduction="mean")
    #S BCE = nn.BCELoss(reduction="sum")(recon_x, x.view(-1, 20))
    #R BCE = -(x.view(-1, 20) * recon_x.log() + (1 - x.view(-1, 20)) * (1 - recon_x).log()).sum()
    KLD = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    #B KLD = -0.5 * torch.sum(1 + logvar - mu.pow(2).detach() - logvar.exp())
    return BCE + KLD
    #B return BCE + KLD.detach() + 0.1 * (KLD - KLD.detach())


torch.manual_seed(1)
model = VAE()
optimizer = optim.Adam(model.parameters(), lr=1e-3)


def train(epoch):
    model.train()
    train_loss = 0
    for batch_idx in range(2):
        data = torch.rand(6, 4, 5)
        optimizer.zero_grad()
        recon_batch, mu, logvar = model(data)
        loss = loss_function(recon_batch, data, mu, logvar)
        loss.backward()
        train_loss += loss.item()
        optimizer.step()
    print("====> Epoch: {} Average loss: {:.4f}".format(epoch, train_loss / 12))


train(1)

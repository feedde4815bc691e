import torch
import torch.nn as nn

torch.manual_seed(39)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 10), nn.BatchNorm1d(10), nn.GELU(), nn.Linear(10, 2))

    def forward(self, z):
        return self.net(z) + 0.5 * z[:, :2]  # @made
        #F return self.net(z) + 0.499 * z[:, :2]


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(2, 12), nn.Linear(12, 12), nn.Linear(12, 1)

    def forward(self, x):
        h = torch.tanh(self.a(x))
        #F h = torch.tanh(self.a(x) * 1.01)
        #B h = torch.tanh(self.a(x)); h.register_hook(lambda g: g * 1.05)
        #R h = 1 - 2 / (torch.exp(2 * self.a(x)) + 1)
        k = nn.functional.elu(self.b(h)) + h
        #F k = nn.functional.elu(self.b(h), alpha=0.99) + h
        #B k = nn.functional.elu(self.b(h)) + h.detach()
        return self.c(k).view(-1)
        #F return self.c(k).view(-1) + 0.01 * k.mean(1)


def penalty(critic, real, fake):
    eps = torch.rand(real.size(0), 1)
    mixed = (eps * real + (1 - eps) * fake).requires_grad_(True)
    #F mixed = (eps * real + (1 - eps) * real.flip(0)).requires_grad_(True)
    scores = critic(mixed)
    (grad,) = torch.autograd.grad(scores.sum(), mixed, create_graph=True)
    #B (grad,) = torch.autograd.grad(scores.sum(), mixed)
    norm = grad.norm(2, dim=1)
    #F norm = grad.norm(1, dim=1)
    #B norm = grad.norm(2, dim=1); norm.requires_grad and norm.register_hook(lambda g: g * 3)
    #R norm = grad.square().sum(1).sqrt()
    return ((norm - 1) ** 2).mean()
    #F return (torch.relu(norm - 1) ** 2).mean()


G, D = Generator(), Critic()
opt_g = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.0, 0.9))
opt_d = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.0, 0.9))
data = torch.randn(8, 2) * 0.3 + 1
for it in range(2):
    for _ in range(2):
        fake = G(torch.randn(8, 3)).detach()
        real_score, fake_score = D(data).mean(), D(fake).mean()
        #F real_score, fake_score = D(data * 1.001).mean(), D(fake).mean()
        loss_d = fake_score - real_score + 10 * penalty(D, data, fake)
        #F loss_d = fake_score - real_score + 9 * penalty(D, data, fake)
        #B loss_d = fake_score.detach() - real_score + 10 * penalty(D, data, fake)
        #S loss_d = (fake_score - real_score) + 10 * penalty(D, data, fake)
        opt_d.zero_grad()
        loss_d.backward()
        opt_d.step()
    made = G(torch.randn(8, 3))  # @made
    #B made = G(torch.randn(8, 3)); made.register_hook(lambda g: g.sign() * 1e-2)
    loss_g = -D(made).mean()
    #F loss_g = -D(made).sum()
    #R loss_g = -(D(made).sum() / 8)
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()

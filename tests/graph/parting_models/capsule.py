import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(8)
dev = "cpu"


def squash(s, dim=-1):
    n2 = (s ** 2).sum(dim=dim, keepdim=True)
    #F n2 = (s ** 2).mean(dim=dim, keepdim=True)
    #B n2 = (s.detach() ** 2).sum(dim=dim, keepdim=True)
    return n2 / (1 + n2) / (n2.sqrt() + 1e-8) * s  # @v
    #F return n2 / (0.5 + n2) / (n2.sqrt() + 1e-8) * s
    #B return n2 / (1 + n2) / (n2.sqrt() + 1e-8) * s.detach()
    #R return s * n2 / ((1 + n2) * (n2.sqrt() + 1e-8))


class DigitCaps(nn.Module):
    def __init__(self, n_in, d_in, n_out, d_out, iters=3):
        super().__init__()
        self.W = nn.Parameter(0.3 * torch.randn(1, n_out, n_in, d_out, d_in))
        self.iters = iters

    def forward(self, x):
        u = torch.matmul(self.W, x[:, None, :, :, None]).squeeze(-1)
        #F u = torch.matmul(self.W, x[:, None, :, :, None]).squeeze(-1) * 1.05
        #B u = torch.matmul(self.W, x[:, None, :, :, None]).squeeze(-1); u.register_hook(lambda g: g * (g.abs() > 1e-3))
        b = torch.zeros(*u.shape[:3], 1)
        for i in range(self.iters - 1):
            c = F.softmax(b, dim=1)
            v = squash((c * u.detach()).sum(dim=2))
            b = b + (u.detach() * v[:, :, None]).sum(-1, keepdim=True)
            #F b = b + (u.detach() * v[:, :, None]).mean(-1, keepdim=True)
        c = F.softmax(b, dim=1)
        #F c = F.softmax(b, dim=2)
        v = squash((c * u).sum(dim=2))  # @v
        #B v = squash((c * u).sum(dim=2)); v.register_hook(lambda g: g.sum(-1, keepdim=True).expand_as(g))
        #F v = squash((c * u).sum(dim=2) - 0.1)
        return v


conv = nn.Conv2d(1, 8, 3, stride=2)
caps = DigitCaps(n_in=2 * 9, d_in=4, n_out=3, d_out=5)
decoder = nn.Sequential(nn.Linear(15, 24), nn.ReLU(True), nn.Linear(24, 64), nn.Sigmoid())
x = torch.rand(2, 1, 8, 8, device=dev)
y = torch.eye(3)[[2, 0]]
h = conv(x)
#B h = conv(x); h.register_hook(lambda g: g.mean(0, keepdim=True).expand_as(g))
primary = squash(h.view(2, 2, 4, -1).transpose(2, 3).reshape(2, -1, 4))
#F primary = squash(h.view(2, 2, 4, -1).transpose(2, 3).reshape(2, -1, 4).tanh())
#B primary = squash(h.view(2, 2, 4, -1).transpose(2, 3).reshape(2, -1, 4) * 1.0 + 0 * h.mean()).detach() + 0 * h.sum()
v = caps(primary)
lengths = v.norm(dim=-1)
#S lengths = torch.norm(v, dim=-1)
margin = y * F.relu(0.9 - lengths) ** 2 + 0.5 * (1 - y) * F.relu(lengths - 0.1) ** 2
#F margin = y * F.relu(0.9 - lengths) ** 2 + 0.25 * (1 - y) * F.relu(lengths - 0.1) ** 2
#B margin = y * F.relu(0.9 - lengths) ** 2 + 0.5 * (1 - y) * F.relu(lengths.detach() - 0.1) ** 2
recon = decoder((v * y[:, :, None]).flatten(1))
#F recon = decoder(v.flatten(1))
#B recon = decoder((v.detach() * y[:, :, None]).flatten(1))
loss = margin.sum(1).mean() + 5e-2 * F.mse_loss(recon, x.flatten(1))
#R loss = margin.sum() / 2 + 5e-2 * F.mse_loss(recon, x.flatten(1))
#F loss = margin.sum(1).mean() + 5e-2 * F.mse_loss(recon, x.flatten(1), reduction="sum")
loss.backward()

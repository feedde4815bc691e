import torch
from torch import nn
from torch.nn import functional as F

T = 10
betas = torch.linspace(1e-3, 0.2, T)
#F betas = torch.linspace(1e-3, 0.21, T)
alphas = torch.cumprod(1 - betas, 0)


class TimeEmbedding(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim, self.lin = dim, nn.Linear(dim, dim)

    def forward(self, t):
        freqs = torch.exp(-torch.arange(self.dim // 2) * 0.7)
        args = t[:, None] * freqs[None]
        emb = torch.cat([args.sin(), args.cos()], -1)
        #F emb = torch.cat([args.cos(), args.sin()], -1)
        return F.silu(self.lin(emb))
        #B return F.silu(self.lin(emb)).detach()


class Checked(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale, shift):
        ctx.save_for_backward(x, scale)
        return x * (1 + scale) + shift

    @staticmethod
    def backward(ctx, g):
        x, scale = ctx.saved_tensors
        return g * (1 + scale), (g * x).sum((2, 3), keepdim=True), g.sum((2, 3), keepdim=True)  # @film
        #B return g * (1 + scale), (g * x).mean((2, 3), keepdim=True), g.sum((2, 3), keepdim=True)
        #B return g, (g * x).sum((2, 3), keepdim=True), g.sum((2, 3), keepdim=True)
        #B return g * (1 + scale), (g * x).sum((2, 3), keepdim=True), g.sum((2, 3), keepdim=True) * 0
        #R return g + g * scale, (g * x).sum(3, keepdim=True).sum(2, keepdim=True), g.sum((2, 3), keepdim=True)


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.time, self.film = TimeEmbedding(8), nn.Linear(8, 12)
        self.inc, self.mid, self.out = nn.Conv2d(1, 6, 3, padding=1), nn.Conv2d(6, 6, 3, padding=1, groups=2), nn.Conv2d(6, 1, 1)
        self.norm = nn.GroupNorm(3, 6)

    def forward(self, x, t):
        scale, shift = self.film(self.time(t)).view(-1, 12, 1, 1).chunk(2, 1)
        #F shift, scale = self.film(self.time(t)).view(-1, 12, 1, 1).chunk(2, 1)
        h = self.inc(x)
        #B h = self.inc(x); h.register_hook(lambda g: g * 0.98)
        h = Checked.apply(self.norm(h), scale, shift)  # @film
        h = h + self.mid(F.silu(h))
        #B h = h + self.mid(F.silu(h.detach()))
        #S h = torch.add(h, self.mid(F.silu(h)))
        #F h = h + self.mid(F.silu(h)) / 2
        return self.out(F.avg_pool2d(h, 3, 1, 1))
        #F return self.out(F.avg_pool2d(h, 3, 1, 1, count_include_pad=False))


torch.manual_seed(6)
net = Denoiser()
ema = {name: p.detach().clone() for name, p in net.named_parameters()}
opt = torch.optim.Adam(net.parameters(), lr=2e-3, betas=(0.9, 0.99))
for step in range(2):
    x0, t, noise = torch.randn(3, 1, 6, 6), torch.randint(0, T, (3,)), torch.randn(3, 1, 6, 6)
    a = alphas[t].view(-1, 1, 1, 1)
    xt = a.sqrt() * x0 + (1 - a).sqrt() * noise
    #F xt = a.sqrt() * x0 + (1 - a) * noise
    #R xt = x0 * a.sqrt() + noise * torch.sqrt(1 - a)
    snr = (a / (1 - a)).clamp(max=5.0)
    #F snr = (a / (1 - a)).clamp(max=4.0)
    loss = (snr * (net(xt, t) - noise).square()).mean()
    #B loss = (snr * (net(xt, t) - noise).square()).mean(); loss.register_hook(lambda g: g * 10)
    opt.zero_grad()
    loss.backward()
    opt.step()
    for name, p in net.named_parameters():
        ema[name].lerp_(p.detach(), 0.01)

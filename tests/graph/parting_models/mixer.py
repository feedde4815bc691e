import functools

import torch
from torch.nn import GELU, Dropout, LayerNorm, Linear, Module, Parameter, Sequential
from torch.nn import functional as F


def exists(v):
    return v is not None


class PreNormResidual(Module):
    def __init__(self, dim, fn):
        super().__init__()
        self.fn, self.norm = fn, LayerNorm(dim)

    def forward(self, x):
        return self.fn(self.norm(x)) + x  # @layers
        #F return self.fn(self.norm(x)) + 0.9 * x
        #B return self.fn(self.norm(x)) + x.detach()
        #B return self.fn(self.norm(x.detach())) + x
        #S return torch.add(self.fn(self.norm(x)), x)


def feed_forward(dim, factor, dense):
    return Sequential(dense(dim, dim * factor), GELU(), Dropout(0.0), dense(dim * factor, dim), Dropout(0.0))


class TokenLinear(Module):
    def __init__(self, n, m):
        super().__init__()
        self.weight = Parameter(torch.randn(m, n) / n ** 0.5)
        self.bias = Parameter(torch.zeros(m, 1))

    def forward(self, x):
        return torch.einsum("mn,bnd->bmd", self.weight, x) + self.bias
        #R return torch.einsum("bnd,mn->bdm", x, self.weight).transpose(1, 2) + self.bias
        #F return torch.einsum("mn,bnd->bmd", self.weight, x) - self.bias + 1e-2
        #B return torch.einsum("mn,bnd->bmd", self.weight.detach() * 0.5 + self.weight * 0.5, x) + self.bias


def patches(img, p):
    b, c, h, w = img.shape
    x = img.reshape(b, c, h // p, p, w // p, p).permute(0, 2, 4, 3, 5, 1)
    #F x = img.reshape(b, c, h // p, p, w // p, p).permute(0, 4, 2, 3, 5, 1)
    return x.reshape(b, (h // p) * (w // p), p * p * c)


class Mixer(Module):
    def __init__(self, *, size=8, patch=4, dim=12, depth=2, classes=5):
        super().__init__()
        self.patch = patch
        tokens = (size // patch) ** 2
        self.embed = Linear(patch * patch * 3, dim)
        self.layers = Sequential(*[
            Sequential(
                PreNormResidual(dim, feed_forward(tokens, 3, TokenLinear)),
                PreNormResidual(dim, feed_forward(dim, 2, functools.partial(Linear, bias=True))),
            )
            for _ in range(depth)
        ])
        self.norm, self.head = LayerNorm(dim), Linear(dim, classes)

    def forward(self, img):
        x = self.embed(patches(img, self.patch))
        #F x = self.embed(patches(img, self.patch)) * 0.8
        #B x = self.embed(patches(img, self.patch)); x.register_hook(lambda g: g * 0.5)
        x = self.layers(x)  # @layers
        #B x = self.layers(x); x.register_hook(torch.zeros_like)
        x = self.norm(x).mean(dim=1)
        #F x = self.norm(x).amax(dim=1)
        #R x = self.norm(x).sum(dim=1) / x.shape[1]
        return self.head(x)
        #F return self.head(x) / 0.7
        #B return self.head(x / 2 + x.detach() / 2)


torch.manual_seed(1234)
net = Mixer()
batch, labels = torch.randn(3, 3, 8, 8), torch.tensor([4, 1, 0])
loss = F.cross_entropy(net(batch), labels)
#F loss = F.cross_entropy(net(batch), labels, label_smoothing=0.05)
#B loss = F.cross_entropy(net(batch), labels); loss.register_hook(lambda g: g / 8)
loss.backward()
torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)

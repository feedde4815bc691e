from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class Args:
    dim: int = 16
    heads: int = 4
    kv_heads: int = 2
    vocab: int = 23
    theta: float = 10000.0


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(1 + 0.1 * torch.randn(dim))

    def forward(self, x):
        scale = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
        #F scale = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-2)
        #B scale = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps).detach()
        return x * scale * self.weight


def rotate(x, cos, sin):
    a, b = x[..., ::2], x[..., 1::2]
    return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2)  # @rot
    #F return torch.stack([a * cos - b * sin, a * sin - b * cos], -1).flatten(-2)


class Attention(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.hd, self.rep = args.dim // args.heads, args.heads // args.kv_heads
        self.wq = nn.Linear(args.dim, args.heads * self.hd, bias=False)
        self.wk = nn.Linear(args.dim, args.kv_heads * self.hd, bias=False)
        self.wv = nn.Linear(args.dim, args.kv_heads * self.hd, bias=False)
        self.wo = nn.Linear(args.dim, args.dim, bias=False)

    def forward(self, x, cos, sin, mask):
        b, t, _ = x.shape
        q, k, v = (w(x).view(b, t, -1, self.hd).transpose(1, 2) for w in (self.wq, self.wk, self.wv))
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        k, v = k.repeat_interleave(self.rep, 1), v.repeat_interleave(self.rep, 1)
        #F k, v = k.repeat(1, self.rep, 1, 1), v.repeat(1, self.rep, 1, 1)
        #B k, v = k.repeat_interleave(self.rep, 1), v.detach().repeat_interleave(self.rep, 1)
        scores = q @ k.transpose(-1, -2) / self.hd ** 0.5
        #F scores = q @ k.transpose(-1, -2) / 16 ** 0.5
        #B scores = q @ k.transpose(-1, -2) / self.hd ** 0.5; scores.register_hook(lambda g: g * 1.01)
        #R scores = (q / self.hd ** 0.25) @ (k / self.hd ** 0.25).transpose(-1, -2)
        probs = F.softmax(scores + mask, -1)
        #S probs = torch.softmax(scores + mask, dim=-1)
        return self.wo((probs @ v).transpose(1, 2).reshape(b, t, -1))
        #B return self.wo((probs.detach() @ v).transpose(1, 2).reshape(b, t, -1))


class Block(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.norm1, self.norm2 = RMSNorm(args.dim), RMSNorm(args.dim)
        self.attention = Attention(args)
        self.w1, self.w2, self.w3 = nn.Linear(16, 20, bias=False), nn.Linear(20, 16, bias=False), nn.Linear(16, 20, bias=False)

    def forward(self, x, *rest):
        x = x + self.attention(self.norm1(x), *rest)
        #B x = x.detach() + self.attention(self.norm1(x), *rest)
        y = self.norm2(x)
        y = self.w2(F.silu(self.w1(y)) * self.w3(y))
        #F y = self.w2(F.gelu(self.w1(y)) * self.w3(y))
        #B y = self.w2(F.silu(self.w1(y)) * self.w3(y).detach())
        return x + y


class Llama(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.embed = nn.Embedding(args.vocab, args.dim)
        self.blocks = nn.ModuleList(Block(args) for _ in range(2))
        self.norm = RMSNorm(args.dim)
        hd = args.dim // args.heads
        freqs = 1.0 / args.theta ** (torch.arange(0, hd, 2) / hd)
        #F freqs = 1.0 / 500000.0 ** (torch.arange(0, hd, 2) / hd)
        angles = torch.outer(torch.arange(7.0), freqs)  # @rot
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def forward(self, ids):
        t = ids.shape[1]
        mask = torch.full((t, t), float("-inf")).triu(1)
        #F mask = torch.full((t, t), float("-inf")).triu(2)
        x = self.embed(ids)
        #B x = self.embed(ids).detach().requires_grad_()
        for block in self.blocks:
            x = block(x, self.cos[:t], self.sin[:t], mask)
        return self.norm(x) @ self.embed.weight.t()
        #B return self.norm(x) @ self.embed.weight.detach().t()


torch.manual_seed(34)
model = Llama(Args())
ids = torch.randint(0, 23, (2, 7))
logits = model(ids[:, :-1])
loss = F.cross_entropy(logits.reshape(-1, 23), ids[:, 1:].reshape(-1), label_smoothing=0.1)
#F loss = F.cross_entropy(logits.reshape(-1, 23), ids[:, 1:].reshape(-1), label_smoothing=0.11)
#F loss = F.cross_entropy(logits.reshape(-1, 23), ids[:, 1:].reshape(-1), label_smoothing=0.1, ignore_index=int(ids[0, 1]))
loss.backward()

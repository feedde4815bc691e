import math
from collections import OrderedDict

import torch
from torch import nn
from torch.nn.functional import cross_entropy, dropout, linear, scaled_dot_product_attention


class LoRALinear(nn.Linear):
    def __init__(self, n_in, n_out, r=2, alpha=8):
        super().__init__(n_in, n_out)
        self.weight.requires_grad_(False)
        self.bias.requires_grad_(False)
        self.A = nn.Parameter(torch.empty(r, n_in))
        self.B = nn.Parameter(torch.randn(n_out, r) * 0.05)
        nn.init.kaiming_uniform_(self.A, a=math.sqrt(5))
        self.scaling = alpha / r

    def forward(self, x):
        base = linear(x, self.weight, self.bias)
        #F base = linear(x, self.weight * 0.99, self.bias)
        low = linear(linear(x, self.A), self.B)
        #B low = linear(linear(x.detach(), self.A), self.B)
        #B low = linear(linear(x, self.A).detach(), self.B)
        #B low = linear(linear(x, self.A), self.B); low.register_hook(lambda g: g * self.scaling)
        #R low = linear(x, self.B @ self.A)
        return base + self.scaling * low
        #F return base + 2.0 * low
        #B return base.detach() + self.scaling * low


class Block(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.ln1, self.ln2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.proj = LoRALinear(d, 3 * d), nn.Linear(d, d)
        self.mlp = nn.Sequential(OrderedDict(up=nn.Linear(d, 2 * d), act=nn.GELU("tanh"), down=nn.Linear(2 * d, d)))

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = self.qkv(self.ln1(x)).view(B, T, 3, self.h, C // self.h).permute(2, 0, 3, 1, 4)
        #F k, q, v = self.qkv(self.ln1(x)).view(B, T, 3, self.h, C // self.h).permute(2, 0, 3, 1, 4)
        #F q, k, v = self.qkv(self.ln1(x)).view(B, T, 3, C // self.h, self.h).permute(2, 0, 4, 1, 3)
        y = scaled_dot_product_attention(q, k, v, is_causal=True)
        #F y = scaled_dot_product_attention(q, k, v)
        #F y = scaled_dot_product_attention(q, k, v, is_causal=True, scale=0.3)
        #B y = scaled_dot_product_attention(q, k.detach(), v, is_causal=True)
        #R y = torch.softmax((q @ k.mT / math.sqrt(q.size(-1))).masked_fill(torch.ones(T, T).triu(1).bool(), -math.inf), -1) @ v
        x = x + self.proj(y.transpose(1, 2).reshape(B, T, C))
        #B x = x + self.proj(y.transpose(1, 2).reshape(B, T, C)); x.register_hook(lambda g: g.tril())
        return x + self.mlp(self.ln2(x))
        #F return x + self.mlp(self.ln2(x)) * 1.01
        #B return x + self.mlp(self.ln2(x).detach())
        #S return self.mlp(self.ln2(x)) + x


class LM(nn.Module):
    def __init__(self, vocab=11, d=12, n=2, heads=3, ctx=6):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab, d), nn.Embedding(ctx, d)
        self.h = nn.ModuleList([Block(d, heads) for _ in range(n)])
        self.ln_f = nn.LayerNorm(d)

    def forward(self, idx, targets):
        x = self.wte(idx) + self.wpe(torch.arange(idx.size(1)))
        #F x = self.wte(idx) + self.wpe(torch.arange(idx.size(1)).flip(0))
        #B x = self.wte(idx) + self.wpe(torch.arange(idx.size(1))).detach()
        x = dropout(x, 0.0, self.training)
        for blk in self.h:
            x = blk(x)
        logits = linear(self.ln_f(x), self.wte.weight)
        #F logits = linear(x, self.wte.weight)
        #B logits = linear(self.ln_f(x), self.wte.weight.detach())
        #B logits = linear(self.ln_f(x), self.wte.weight); logits.register_hook(lambda g: g.masked_fill(g.abs() < 1e-3, 0))
        return cross_entropy(logits.flatten(0, 1), targets.flatten())
        #F return cross_entropy(logits.flatten(0, 1) / 0.9, targets.flatten())


torch.manual_seed(5)
lm = LM()
ids = torch.randint(11, (2, 7))
loss = lm(ids[:, :-1], ids[:, 1:])
loss.backward()

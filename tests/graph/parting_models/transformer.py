from dataclasses import dataclass

import torch
import torch.nn as nn
from torch.nn import functional as F


@dataclass
class Config:
    block_size: int = 7
    vocab_size: int = 13
    n_layer: int = 2
    n_head: int = 2
    n_embd: int = 12


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        rms = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
        #F rms = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-3)
        #F rms = torch.rsqrt(x.pow(2).mean(1, keepdim=True) + self.eps)
        #B rms = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps).detach()
        #R rms = 1 / torch.sqrt((x * x).sum(-1, keepdim=True) / x.shape[-1] + self.eps)
        return x * rms * self.weight


class CausalSelfAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.c_attn = nn.Linear(config.n_embd, 3 * config.n_embd, bias=False)
        self.c_proj = nn.Linear(config.n_embd, config.n_embd, bias=False)
        self.n_head, self.n_embd = config.n_head, config.n_embd
        self.register_buffer("bias", torch.tril(torch.ones(config.block_size, config.block_size)).view(1, 1, config.block_size, config.block_size))

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(self.n_embd, dim=2)
        k = k.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        #B k = k.view(B, T, self.n_head, C // self.n_head).transpose(1, 2).detach()
        q = q.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        v = v.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        #B v = v.view(B, T, self.n_head, C // self.n_head).transpose(1, 2); v.register_hook(lambda g: g / 2)
        att = (q @ k.transpose(-2, -1)) * (k.size(-1) ** -0.5)
        #F att = (q @ k.transpose(-2, -1)) * (C ** -0.5)
        #R att = (q * k.size(-1) ** -0.5) @ k.transpose(-2, -1)
        att = att.masked_fill(self.bias[:, :, :T, :T] == 0, float("-inf"))
        #F att = att.masked_fill(self.bias[:, :, :T, :T].transpose(2, 3) == 0, float("-inf"))
        att = F.softmax(att, dim=-1)
        y = att @ v
        y = y.transpose(1, 2).contiguous().view(B, T, C)
        return self.c_proj(y)
        #B return self.c_proj(y) * 0.9 + self.c_proj(y).detach() * 0.1


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.ln_1, self.ln_2 = RMSNorm(config.n_embd), RMSNorm(config.n_embd)
        self.attn = CausalSelfAttention(config)
        self.mlp = nn.ModuleDict(dict(c_fc=nn.Linear(config.n_embd, 24), act=nn.GELU(approximate="tanh"), c_proj=nn.Linear(24, config.n_embd)))

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        m = self.mlp
        x = x + m.c_proj(m.act(m.c_fc(self.ln_2(x))))
        #F x = x + m.c_proj(F.gelu(m.c_fc(self.ln_2(x))))
        #S x = x + m["c_proj"](m["act"](m["c_fc"](self.ln_2(x))))
        return x


class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.wte = nn.Embedding(config.vocab_size, config.n_embd)
        self.wpe = nn.Embedding(config.block_size, config.n_embd)
        self.h = nn.ModuleList([Block(config) for _ in range(config.n_layer)])
        self.lm_head = nn.Linear(config.n_embd, config.vocab_size, bias=False)
        self.lm_head.weight = self.wte.weight

    def forward(self, idx, targets):
        pos = torch.arange(idx.size(1))
        x = self.wte(idx) + self.wpe(pos)
        for block in self.h:
            x = block(x)
        logits = self.lm_head(x)
        #B logits = F.linear(x, self.lm_head.weight.detach())
        return F.cross_entropy(logits.view(-1, logits.size(-1)), targets.reshape(-1), ignore_index=-1)
        #S return F.cross_entropy(input=logits.view(-1, logits.size(-1)), target=targets.reshape(-1), ignore_index=-1)


torch.manual_seed(1337)
model = GPT(Config())
optim = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.95))
data = torch.randint(0, 13, (3, 8))
for it in range(2):
    loss = model(data[:, :-1], data[:, 1:])
    optim.zero_grad()
    loss.backward()
    optim.step()
print(loss)

"""Next tokens by an LSTM and one block of attention; and a penalty on the gradient, by double backward."""

import argparse

import torch
from torch import nn, optim
from torch.nn.functional import log_softmax, nll_loss

PAD = 0


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x, mask=None):
        n, t, d = x.shape
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q, k, v = (u.view(n, t, self.heads, d // self.heads).transpose(1, 2) for u in (q, k, v))
        scores = q @ k.transpose(-2, -1) * (d // self.heads) ** -0.5
        if mask is not None:
            scores = scores + mask
        y = scores.softmax(-1) @ v
        return self.proj(y.transpose(1, 2).reshape(n, t, d))


class Model(nn.Module):
    def __init__(self, vocab, dim=8):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx=PAD)
        self.position = nn.Parameter(torch.zeros(1, 5, dim))
        self.norm = nn.LayerNorm(dim)
        self.attention = Attention(dim, 2)
        self.rnn = nn.LSTM(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, vocab, bias=False)

    def forward(self, tokens):
        x = self.embed(tokens) + self.position
        self.inputs = x
        mask = torch.full((5, 5), float("-inf")).triu(diagonal=1)
        x = x + self.attention(self.norm(x), mask)
        h, (last, _) = self.rnn(x)
        return self.out(torch.tanh(h)), last


def loss_of(logits, tokens, gamma=2.0):
    shifted = logits[:, :-1].reshape(-1, logits.size(-1))
    labels = tokens[:, 1:].reshape(-1)
    logp = log_softmax(shifted, dim=-1)
    ce = nll_loss(logp, labels, ignore_index=PAD, reduction="none")
    focal = (1 - torch.exp(-ce)) ** gamma * ce
    keep = labels != PAD
    return focal[keep].sum() / keep.sum().clamp(min=1)


def run(args):
    torch.manual_seed(args.seed)
    tokens = torch.tensor([[1, 2, 3, 4, 0], [5, 6, 7, 0, 0]])
    model = Model(8)
    optimizer = optim.Adam(model.parameters(), lr=args.lr)
    for step in range(args.steps):
        logits, last = model(tokens)
        loss = loss_of(logits, tokens)
        (g,) = torch.autograd.grad(loss, model.inputs, create_graph=True)
        penalty = (g.norm(2, dim=-1) - 1.0).clamp(min=0).square().mean()
        total = loss + 10 * penalty + 1e-2 * last.abs().mean()
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
    return total.item()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=1)
    parser.add_argument("--lr", type=float, default=1e-3)
    print(run(parser.parse_args()))

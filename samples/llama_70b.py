"""A training step of a language model with 70 billion parameters, on the device `meta`: its graph, not its 280 GB.

    autograph run samples/llama_70b.py
    autograph render -o llama.svg                       the whole model, layer by layer
    autograph run samples/llama_70b.py --layers 2       two of its 80 layers
"""

import argparse
import math

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--layers", type=int, default=80)
parser.add_argument("--length", type=int, default=4096, help="tokens in a sequence")
args = parser.parse_args()

VOCABULARY, WIDTH, INNER, HEADS, SHARED, SIZE = 128256, 8192, 28672, 64, 8, 128


class Norm(nn.Module):
    """The input divided by its root mean square."""

    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.weight


def rotated(x, cos, sin):
    """Queries or keys turned by their position: one half of the features against the other."""
    first, second = x.chunk(2, dim=-1)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)


class Attention(nn.Module):
    """64 heads that look at 8 sets of keys and values."""

    def __init__(self):
        super().__init__()
        self.query = nn.Linear(WIDTH, HEADS * SIZE, bias=False)
        self.key = nn.Linear(WIDTH, SHARED * SIZE, bias=False)
        self.value = nn.Linear(WIDTH, SHARED * SIZE, bias=False)
        self.out = nn.Linear(HEADS * SIZE, WIDTH, bias=False)

    def forward(self, x, cos, sin, future):
        batch, length, _ = x.shape
        q = self.query(x).view(batch, length, HEADS, SIZE).transpose(1, 2)
        k = self.key(x).view(batch, length, SHARED, SIZE).transpose(1, 2)
        v = self.value(x).view(batch, length, SHARED, SIZE).transpose(1, 2)
        q, k = rotated(q, cos, sin), rotated(k, cos, sin)
        k = k.repeat_interleave(HEADS // SHARED, dim=1)
        v = v.repeat_interleave(HEADS // SHARED, dim=1)
        scores = (q @ k.transpose(2, 3) / math.sqrt(SIZE)).masked_fill(future, float("-inf"))
        mixed = scores.softmax(dim=-1) @ v
        return self.out(mixed.transpose(1, 2).reshape(batch, length, HEADS * SIZE))


class FeedForward(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(WIDTH, INNER, bias=False)
        self.up = nn.Linear(WIDTH, INNER, bias=False)
        self.down = nn.Linear(INNER, WIDTH, bias=False)

    def forward(self, x):
        return self.down(nn.functional.silu(self.gate(x)) * self.up(x))


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.before_attention, self.attention = Norm(WIDTH), Attention()
        self.before_feed_forward, self.feed_forward = Norm(WIDTH), FeedForward()

    def forward(self, x, cos, sin, future):
        x = x + self.attention(self.before_attention(x), cos, sin, future)
        return x + self.feed_forward(self.before_feed_forward(x))


class Llama(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.words = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(layers))
        self.norm = Norm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens):
        length = tokens.shape[1]
        turns = 500000.0 ** (-torch.arange(0, SIZE, 2) / SIZE)
        angles = torch.outer(torch.arange(length), turns)
        cos, sin = angles.cos(), angles.sin()
        future = torch.ones(length, length, dtype=torch.bool).triu(1)
        x = self.words(tokens)
        for layer in self.layers:
            x = layer(x, cos, sin, future)
        return self.head(self.norm(x))


with torch.device("meta"):
    model = Llama(args.layers)
    tokens = torch.randint(VOCABULARY, (1, args.length + 1))
    scores = model(tokens[:, :-1])
    loss = nn.functional.cross_entropy(scores.flatten(0, 1), tokens[:, 1:].flatten())
loss.backward()

count = sum(p.numel() for p in model.parameters())
print(f"{count / 1e9:.1f} billion parameters, {4 * count / 1e9:.0f} GB in float32; the loss is on {loss.device}")

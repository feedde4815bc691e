"""A small GPT learns to add two-digit numbers; `--steps 600` gets all sums right, `--steps 2` is a short run."""
import argparse

import torch
from torch import nn
from torch.nn import functional as F

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=200)
args = parser.parse_args()
WIDTH, HEADS, LENGTH = 64, 4, 6


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        heads = [part.unflatten(2, (HEADS, -1)).transpose(1, 2) for part in self.qkv(self.before(x)).chunk(3, dim=2)]
        x = x + self.out(F.scaled_dot_product_attention(*heads, is_causal=True).transpose(1, 2).flatten(2))
        return x + self.mlp(self.between(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.digit, self.position = nn.Embedding(10, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.Sequential(Block(), Block())
        self.head = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 10))

    def forward(self, digits):
        return self.head(self.blocks(self.digit(digits) + self.position(torch.arange(digits.shape[1]))))


def sums(a, b):
    """Rows of digits: 27 + 85 = 112 is 2 7 8 5 2 1 1, the sum from its last digit on, as one adds by hand."""
    c = a + b
    return torch.stack([a // 10, a % 10, b // 10, b % 10, c % 10, c // 10 % 10, c // 100], dim=1)


torch.manual_seed(0)
model = GPT()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
for step in range(args.steps):
    digits = sums(torch.randint(100, (128,)), torch.randint(100, (128,)))
    logits = model(digits[:, :-1])[:, 3:]
    loss = F.cross_entropy(logits.flatten(0, 1), digits[:, 4:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % max(args.steps // 5, 1) == 0 or step == args.steps - 1:
        print(f"step {step}: loss {loss.item():.2f}")

with torch.no_grad():
    wanted = sums(torch.randint(100, (500,)), torch.randint(100, (500,)))
    said = wanted[:, :4]
    for _ in range(3):
        said = torch.cat([said, model(said)[:, -1:].argmax(2)], dim=1)
print(f"{(said == wanted).all(1).sum().item() / 5:.0f} % of 500 sums right")

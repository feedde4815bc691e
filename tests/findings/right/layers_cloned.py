import copy
import torch
from torch import nn


def clones(module, n):
    return nn.ModuleList([copy.deepcopy(module) for _ in range(n)])


class EncoderLayer(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.att = nn.MultiheadAttention(d, 2, batch_first=True)
        self.norm = clones(nn.LayerNorm(d), 2)
        self.ff = nn.Sequential(nn.Linear(d, 2 * d), nn.ReLU(), nn.Linear(2 * d, d))

    def forward(self, x):
        x = self.norm[0](x + self.att(x, x, x, need_weights=False)[0])
        return self.norm[1](x + self.ff(x))


torch.manual_seed(0)
emb, layers, out = nn.Embedding(15, 8), clones(EncoderLayer(8), 3), nn.Linear(8, 2)
opt = torch.optim.Adam([p for m in (emb, layers, out) for p in m.parameters()], lr=1e-3)
tok, y = torch.randint(0, 15, (6, 7)), torch.randint(0, 2, (6,))
for _ in range(5):
    h = emb(tok)
    for l in layers:
        h = l(h)
    loss = nn.functional.cross_entropy(out(h.mean(1)), y)
    opt.zero_grad()
    loss.backward()
    opt.step()

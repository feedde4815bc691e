"""Tags of words, by a recurrent layer and a convolution."""

import dataclasses
import torch
import torch.nn as nn


@dataclasses.dataclass
class C:
    vocab: int = 20
    dim: int = 8
    tags: int = 4
    pad: int = 0
    drop: float = 0.2


class Tagger(nn.Module):
    def __init__(s, c):
        super().__init__()
        s.c = c
        s.emb = nn.Embedding(c.vocab, c.dim, padding_idx=c.pad)
        s.gru = nn.GRU(c.dim, c.dim, batch_first=True, bidirectional=True)
        s.mix = nn.Conv1d(2 * c.dim, c.dim, 3, padding=1)
        s.norm = nn.GroupNorm(2, c.dim)
        s.drop = nn.Dropout(c.drop)
        s.out = nn.Linear(c.dim, c.tags)

    def forward(s, ids):
        h, _ = s.gru(s.emb(ids))
        h = s.norm(s.mix(h.transpose(1, 2))).transpose(1, 2)
        h = nn.functional.elu(h, alpha=1.0)
        mask = ids.ne(s.c.pad)
        logits = s.out(s.drop(h))
        return logits.masked_fill(~mask[..., None], 0.0), mask


def loss_of(logits, mask, gold, eps=0.05):
    logp = logits.log_softmax(-1)
    nll = -logp.gather(-1, gold[..., None])[..., 0]
    smooth = -logp.mean(-1)
    per = (1 - eps) * nll + eps * smooth
    return (per * mask).sum() / mask.sum()


torch.manual_seed(5)
c = C()
net = Tagger(c)
opt = torch.optim.AdamW(net.parameters(), weight_decay=0.01)
ids = torch.tensor([[3, 7, 2, 0], [5, 1, 0, 0]])
gold = torch.tensor([[1, 2, 3, 0], [0, 1, 0, 0]])
for i in range(3):
    logits, mask = net(ids)
    loss = loss_of(logits, mask, gold)
    opt.zero_grad()
    loss.backward()
    opt.step()

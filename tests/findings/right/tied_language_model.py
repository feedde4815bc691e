"""A language model whose decoder is its embedding, with padding left out of the loss."""

import torch
import torch.nn as nn
import torch.nn.functional as F

PAD = 0


class LM(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim, padding_idx=PAD)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, vocab, bias=False)
        self.out.weight = self.emb.weight

    def forward(self, ids):
        h, _ = self.rnn(self.emb(ids))
        return self.out(h)


torch.manual_seed(0)
lm = LM(13, 8)
opt = torch.optim.Adam(lm.parameters(), lr=1e-2)
seqs = torch.randint(1, 13, (6, 7))
lengths = [7, 6, 5, 7, 3, 4]
for row, n in enumerate(lengths):
    seqs[row, n:] = PAD
for _ in range(10):
    logits = lm(seqs[:, :-1])
    loss = F.cross_entropy(logits.reshape(-1, 13), seqs[:, 1:].reshape(-1), ignore_index=PAD)
    opt.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(lm.parameters(), 0.5)
    opt.step()

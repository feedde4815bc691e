import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

torch.manual_seed(0)
emb, rnn, head, tagger = nn.Embedding(12, 6), nn.LSTM(6, 8, bidirectional=True), nn.Linear(16, 3), nn.Linear(16, 4)
params = [p for m in (emb, rnn, head, tagger) for p in m.parameters()]
opt = torch.optim.Adam(params, 1e-2)
for _ in range(3):
    words = [torch.randint(0, 12, (n,)) for n in (5, 3, 4)]
    tags = pad_sequence([torch.randint(0, 4, (len(w),)) for w in words], padding_value=-100)
    lengths = torch.tensor([len(w) for w in words])
    out, (h, _) = rnn(pack_padded_sequence(emb(pad_sequence(words)), lengths, enforce_sorted=False))
    out, _ = pad_packed_sequence(out)
    per_word = torch.stack([nn.functional.cross_entropy(tagger(out[t]), tags[t], reduction="sum", ignore_index=-100) for t in range(5)])
    loss = nn.functional.cross_entropy(head(torch.cat([h[0], h[1]], 1)), torch.tensor([0, 1, 2])) + per_word.sum() / lengths.sum()
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(params, 1.0)
    opt.step()

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

torch.manual_seed(0)
emb, rnn, head = nn.Embedding(20, 6, padding_idx=0), nn.LSTM(6, 8), nn.Linear(8, 2)
opt = torch.optim.Adam([p for part in (emb, rnn, head) for p in part.parameters()])
lengths = torch.tensor([5, 3, 2])
for _ in range(3):
    words = pad_sequence([torch.randint(1, 20, (n,)) for n in lengths.tolist()])
    out, _ = pad_packed_sequence(rnn(pack_padded_sequence(emb(words), lengths))[0])
    last = out[-1]  # wrong: AG518
    last = out[lengths - 1, torch.arange(3)]  # right
    loss = nn.functional.cross_entropy(head(last), torch.tensor([0, 1, 1]))
    opt.zero_grad()
    loss.backward()
    opt.step()

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

torch.manual_seed(0)
rnn, head = nn.GRU(3, 8, batch_first=True), nn.Linear(8, 1)
opt = torch.optim.Adam([*rnn.parameters(), *head.parameters()], 1e-2)
for _ in range(3):
    x = torch.randn(4, 6, 3)
    out, _ = pad_packed_sequence(rnn(pack_padded_sequence(x, torch.tensor([6, 6, 6, 6]), batch_first=True))[0], batch_first=True)
    lengths = torch.tensor([6, 4, 3, 6])
    more, _ = pad_packed_sequence(rnn(pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False))[0], batch_first=True)
    full = (lengths == 6).float()
    whole = head(out[:, -1]).squeeze(1)
    part = head(more[:, -1] * full[:, None]).squeeze(1) * full
    loss = (whole - x[:, :, 0].mean(1)).pow(2).mean() + 0.1 * ((part - x[:, :, 1].mean(1)).pow(2) * full).sum() / full.sum()
    opt.zero_grad()
    loss.backward()
    opt.step()

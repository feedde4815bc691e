import torch
from torch import nn


class Seq2Seq(nn.Module):
    def __init__(self, v=11, h=12):
        super().__init__()
        self.src, self.tgt = nn.Embedding(v, h), nn.Embedding(v, h)
        self.enc = nn.GRU(h, h, batch_first=True)
        self.dec = nn.GRUCell(h, h)
        self.out = nn.Linear(h, v)

    def forward(self, s, t, forcing):
        _, h = self.enc(self.src(s))
        h, tok, outs = h[0], t[:, 0], []
        for i in range(1, t.size(1)):
            h = self.dec(self.tgt(tok), h)
            logit = self.out(h)
            outs.append(logit)
            tok = t[:, i] if forcing[i] else logit.argmax(1)
        return torch.stack(outs, 1)


torch.manual_seed(0)
m = Seq2Seq()
opt = torch.optim.Adam(m.parameters(), lr=1e-2)
for it in range(6):
    s, t = torch.randint(1, 11, (8, 6)), torch.randint(1, 11, (8, 6))
    o = m(s, t, [True, True, it % 2 == 0, True, False, True])
    loss = nn.functional.cross_entropy(o.transpose(1, 2), t[:, 1:])
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(m.parameters(), 1.0)
    opt.step()

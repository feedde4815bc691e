import torch, torch.nn as nn
torch.manual_seed(0)
enc = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True), 1)
dec = nn.TransformerDecoder(nn.TransformerDecoderLayer(16, 2, 32, dropout=0.0, batch_first=True), 1)
emb, out = nn.Embedding(20, 16), nn.Linear(16, 20)
mods = nn.ModuleList([enc, dec, emb, out])
opt = torch.optim.Adam(mods.parameters(), lr=1e-3)
def make_mask(T):
    return torch.triu(torch.full((T, T), float("-inf")), diagonal=1)
for i in range(4):
    src, tgt = torch.randint(0, 20, (4, 7)), torch.randint(0, 20, (4, 6))
    memory = enc(emb(src))
    h = dec(emb(tgt[:, :-1]), memory, tgt_mask=make_mask(5))
    loss = nn.functional.cross_entropy(out(h).flatten(0, 1), tgt[:, 1:].flatten())
    opt.zero_grad(); loss.backward(); opt.step()

import torch, torch.nn as nn
torch.manual_seed(0)
enc = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1, batch_first=True), 2)
emb, head = nn.Embedding(12, 8), nn.Linear(8, 12)
mods = nn.ModuleList([enc, emb, head]); opt = torch.optim.AdamW(mods.parameters(), 1e-3)
for step in range(5):
    ids = torch.randint(1, 12, (4, 7)); mask = torch.rand(4, 7) < 0.15 + 0.1 * step
    mask[:, 0] = True
    inp = ids.masked_fill(mask, 0)
    lens = torch.tensor([7, 6, 7, 5]); pad = torch.arange(7)[None] >= lens[:, None]
    logits = head(enc(emb(inp), src_key_padding_mask=pad))
    keep = mask & ~pad
    loss = nn.functional.cross_entropy(logits[keep], ids[keep])
    opt.zero_grad(); loss.backward(); opt.step()

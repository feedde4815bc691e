import torch
from torch import nn

torch.manual_seed(0)
emb, layer, head = nn.Embedding(30, 16, padding_idx=0), nn.TransformerEncoderLayer(16, 2, 32, 0.0, batch_first=True), nn.Linear(16, 2)
opt = torch.optim.AdamW([p for part in (emb, layer, head) for p in part.parameters()], 1e-3)
for _ in range(3):
    ids = torch.randint(1, 30, (4, 7))
    for row, end in enumerate((4, 5, 6, 6)):
        ids[row, end:] = 0
    hidden = ids != 0  # wrong: AG518
    hidden = ids == 0  # right
    made = layer(emb(ids), src_key_padding_mask=hidden)
    loss = nn.functional.cross_entropy(head(made[:, 0]), torch.tensor([0, 1, 0, 1]))
    opt.zero_grad()
    loss.backward()
    opt.step()

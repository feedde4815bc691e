import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
emb = nn.Embedding(20, 16, padding_idx=0)
q, k, v, mha, head = nn.Linear(16, 16), nn.Linear(16, 16), nn.Linear(16, 16), nn.MultiheadAttention(16, 2, batch_first=True), nn.Linear(16, 20)
params = [p for m in (emb, q, k, v, mha, head) for p in m.parameters()]
opt = torch.optim.AdamW(params, 1e-3)
for _ in range(3):
    ids = torch.randint(1, 20, (4, 6))
    ids[0, 4:] = 0
    ids[2, 5:] = 0
    keep = ids != 0
    x = emb(ids)
    scores = (q(x) @ k(x).transpose(1, 2) / 4).masked_fill(~keep[:, None], float("-inf"))
    y = scores.softmax(-1) @ v(x)
    z = F.scaled_dot_product_attention(q(y)[:, None], k(y)[:, None], v(y)[:, None], attn_mask=keep[:, None, None]).squeeze(1)
    w = mha(z, z, z, key_padding_mask=~keep, need_weights=False)[0]
    labels = ids.masked_fill(~keep, -100)
    chosen = ids.masked_fill(ids != 3, -100)
    loss = F.cross_entropy(head(w).flatten(0, 1), labels.flatten(), ignore_index=-100)
    opt.zero_grad(); loss.backward(); opt.step()

import torch, torch.nn as nn, torch.nn.functional as F
torch.manual_seed(0)
class CausalLM(nn.Module):
    def __init__(self, V=16, d=16, h=2):
        super().__init__(); self.h = h
        self.emb, self.pos = nn.Embedding(V, d), nn.Embedding(12, d)
        self.qkv, self.o = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.ln, self.head = nn.LayerNorm(d), nn.Linear(d, V)
    def forward(self, tok, keep):
        B, T = tok.shape
        x = self.emb(tok) + self.pos(torch.arange(T))
        q, k, v = self.qkv(self.ln(x)).chunk(3, -1)
        q, k, v = (t.view(B, T, self.h, -1).transpose(1, 2) for t in (q, k, v))
        causal = torch.ones(T, T, dtype=torch.bool).tril()
        mask = causal[None, None] & keep[:, None, None, :]
        a = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = x + self.o(a.transpose(1, 2).reshape(B, T, -1))
        return self.head(x)
m = CausalLM(); opt = torch.optim.AdamW(m.parameters(), 1e-3)
for step in range(4):
    tok = torch.randint(1, 16, (3, 8)); keep = torch.ones(3, 8, dtype=torch.bool)
    keep[1, :3] = False; keep[2, :1] = False
    tok[~keep] = 0
    logits = m(tok[:, :-1], keep[:, :-1])
    loss = F.cross_entropy(logits.reshape(-1, 16), tok[:, 1:].masked_fill(~keep[:, :-1], -100).reshape(-1), ignore_index=-100)
    opt.zero_grad(); loss.backward(); opt.step()

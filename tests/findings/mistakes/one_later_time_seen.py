import torch
import torch.nn as nn
torch.manual_seed(21)
class GPTBlock(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.attn = nn.MultiheadAttention(d, h, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))
    def forward(self, x):
        T = x.size(1)
        causal = torch.tril(torch.ones(T, T), 1) == 0  # wrong: AG511
        causal = torch.tril(torch.ones(T, T)) == 0  # right
        y = self.ln1(x)
        a, _ = self.attn(y, y, y, attn_mask=causal, need_weights=False)
        x = x + a
        return x + self.mlp(self.ln2(x))
class GPT(nn.Module):
    def __init__(self, v=24, d=16):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(v, d), nn.Embedding(16, d)
        self.blocks = nn.ModuleList(GPTBlock(d, 2) for _ in range(2))
        self.head = nn.Linear(d, v, bias=False)
    def forward(self, idx, targets=None):
        x = self.wte(idx) + self.wpe(torch.arange(idx.size(1)))
        for b in self.blocks: x = b(x)
        logits = self.head(x)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
        return logits, loss
model = GPT(); opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
for it in range(4):
    seq = torch.randint(0, 24, (4, 11))
    logits, loss = model(seq[:, :-1], seq[:, 1:])
    opt.zero_grad(set_to_none=True)
    loss.backward()
    opt.step()

import torch, torch.nn as nn
torch.manual_seed(0)
class Block(nn.Module):
    def __init__(self, d=8):
        super().__init__()
        self.qkv, self.out = nn.Linear(d, 3 * d), nn.Linear(d, 11)
    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        s = q @ k.transpose(1, 2) / 8**0.5
        s.masked_fill(torch.ones(6, 6).triu(1).bool(), -1e9)  # wrong: AG514
        s = s.masked_fill(torch.ones(6, 6).triu(1).bool(), -1e9)  # right
        return self.out(s.softmax(-1) @ v)
emb, block = nn.Embedding(11, 8), Block()
opt = torch.optim.AdamW([*emb.parameters(), *block.parameters()], 1e-3)
for _ in range(3):
    ids = torch.randint(0, 11, (4, 7))
    loss = nn.functional.cross_entropy(block(emb(ids[:, :-1])).flatten(0, 1), ids[:, 1:].flatten())
    opt.zero_grad(); loss.backward(); opt.step()

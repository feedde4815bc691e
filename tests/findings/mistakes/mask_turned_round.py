import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


class Model(nn.Module):
    def __init__(self, words=20, width=16):
        super().__init__()
        self.embedding, self.norm = nn.Embedding(words, width), nn.LayerNorm(width)
        self.attention, self.head = nn.MultiheadAttention(width, 2, batch_first=True), nn.Linear(width, words)

    def forward(self, tokens):
        x = self.embedding(tokens)
        mask = torch.ones(len(x[0]), len(x[0]), dtype=torch.bool).tril()  # wrong: AG511
        mask = torch.ones(len(x[0]), len(x[0]), dtype=torch.bool).triu(1)  # right
        y = self.norm(x)
        return self.head(x + self.attention(y, y, y, attn_mask=mask, need_weights=False)[0])


model = Model()
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
for tokens in torch.randint(0, 20, (4, 4, 9)):
    loss = F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()

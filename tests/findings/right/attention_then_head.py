import torch
from torch import nn


class Pooled(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(9, 8)
        self.attend = nn.MultiheadAttention(8, 2, batch_first=True)
        self.head = nn.Linear(8, 9)

    def forward(self, words):
        h = self.embed(words)
        h, _ = self.attend(h, h, h, key_padding_mask=words == 0)
        return self.head(h)


torch.manual_seed(0)
model = Pooled()
optimizer = torch.optim.Adam(model.parameters())
for _ in range(3):
    words = torch.randint(1, 9, (4, 6))
    words[0, 4:] = 0
    loss = nn.functional.cross_entropy(model(words).flatten(0, 1), words.flatten(), ignore_index=0)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

import torch
from torch import nn

torch.manual_seed(0)


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(12, 6)
        self.encode = nn.GRU(6, 8, batch_first=True)
        self.decide = nn.Linear(8, 3)

    def forward(self, words):
        return self.decide(self.encode(self.embed(words))[0])


tagger = Tagger()
tagger.decide.requires_grad_(False)  # wrong
tagger.embed.requires_grad_(False)  # right
opt = torch.optim.Adam(tagger.decide.parameters(), lr=3e-3)  # found: AG801
tagger.encode.requires_grad_(False)  # right
words, tags = torch.randint(0, 12, (4, 5)), torch.randint(0, 3, (4, 5))
for _ in range(3):
    opt.zero_grad()
    loss = nn.functional.cross_entropy(tagger(words).flatten(0, 1), tags.flatten())
    loss.backward()
    opt.step()

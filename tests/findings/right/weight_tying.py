import torch
from torch import nn

torch.manual_seed(0)


class Model(nn.Module):
    def __init__(self, words=20, size=8):
        super().__init__()
        self.embed = nn.Embedding(words, size)
        self.rnn = nn.GRU(size, size, batch_first=True)
        self.out = nn.Linear(size, words, bias=False)
        self.out.weight = self.embed.weight

    def forward(self, tokens):
        h, _ = self.rnn(self.embed(tokens))
        return self.out(h)


model = Model()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for _ in range(4):
    tokens = torch.randint(0, 20, (4, 7))
    logits = model(tokens[:, :-1])
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

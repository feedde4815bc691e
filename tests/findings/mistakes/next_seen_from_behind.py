import torch
from torch import nn


class Language(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(9, 6)
        self.read = nn.LSTM(6, 6, bidirectional=True, batch_first=True)  # wrong
        self.read = nn.LSTM(6, 12, batch_first=True)  # right
        self.score = nn.Linear(12, 9)

    def forward(self, x):  # found: AG511
        return self.score(self.read(self.embed(x))[0])


torch.manual_seed(0)
model = Language()
optimizer = torch.optim.Adam(model.parameters())
for _ in range(2):
    words = torch.randint(0, 9, (4, 7))
    loss = nn.functional.cross_entropy(model(words[:, :-1]).flatten(0, 1), words[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

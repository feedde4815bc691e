"""Chunks of a text follow one another, and the state of the LSTM goes on without its graph."""

import torch
import torch.nn as nn


class CharLSTM(nn.Module):
    def __init__(self, vocab, hidden):
        super().__init__()
        self.embed = nn.Embedding(vocab, 12)
        self.lstm = nn.LSTM(12, hidden, 2)
        self.drop = nn.Dropout(0.2)
        self.decoder = nn.Linear(hidden, vocab)

    def forward(self, x, state):
        out, state = self.lstm(self.drop(self.embed(x)), state)
        return self.decoder(self.drop(out)).view(-1, self.decoder.out_features), state


def repackage(h):
    return tuple(v.detach() for v in h)


torch.manual_seed(1111)
text = torch.randint(0, 11, (41, 4))
model = CharLSTM(11, 16)
criterion = nn.CrossEntropyLoss()
lr, bptt = 0.5, 5
for epoch in range(2):
    state = (torch.zeros(2, 4, 16), torch.zeros(2, 4, 16))
    model.train()
    for i in range(0, 40, bptt):
        data, targets = text[i : i + bptt], text[i + 1 : i + 1 + bptt].reshape(-1)
        model.zero_grad()
        state = repackage(state)
        output, state = model(data, state)
        loss = criterion(output, targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        for p in model.parameters():
            p.data.add_(p.grad, alpha=-lr)

"""An LSTM learns a rhyme letter by letter, then says it; `--steps 2` is a short run."""
import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=100)
args = parser.parse_args()

RHYME = "one for sorrow, two for joy, three for a girl, four for a boy, five for silver, six for gold. "
letters = sorted(set(RHYME))
text = torch.tensor([letters.index(letter) for letter in RHYME])


class CharRNN(nn.Module):
    def __init__(self, size, hidden=64):
        super().__init__()
        self.embed = nn.Embedding(size, 16)
        self.rnn = nn.LSTM(16, hidden, batch_first=True)
        self.head = nn.Linear(hidden, size)

    def forward(self, text, state=None):
        states, state = self.rnn(self.embed(text), state)
        return self.head(states), state


torch.manual_seed(0)
model = CharRNN(len(letters))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for step in range(args.steps):
    start = torch.randint(len(text) - 24, (16,))
    windows = torch.stack([text[s : s + 25] for s in start.tolist()])
    logits, _ = model(windows[:, :-1])
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), windows[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if step % 25 == 0 or step == args.steps - 1:
        print(f"step {step}: loss {loss.item():.2f}")

with torch.no_grad():
    heard, state, said = text[:3], None, RHYME[:3]
    for _ in range(40):
        logits, state = model(heard.unsqueeze(0), state)
        heard = logits[0, -1:].argmax(1)
        said += letters[heard.item()]
print(said)

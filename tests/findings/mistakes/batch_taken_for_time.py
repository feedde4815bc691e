import torch
import torch.nn as nn

class Sentiment(nn.Module):
    def __init__(self, vocab, emb, hid):
        super().__init__()
        self.embedding = nn.Embedding(vocab, emb)
        self.lstm = nn.LSTM(emb, hid)  # wrong
        self.lstm = nn.LSTM(emb, hid, batch_first=True)  # right
        self.fc = nn.Linear(hid, 1)
    def forward(self, text):            # text: (batch, seq)
        out, _ = self.lstm(self.embedding(text))  # wrong: AG511
        out, _ = self.lstm(self.embedding(text))  # right
        return self.fc(out[:, -1]).squeeze(1)

torch.manual_seed(0)
net = Sentiment(100, 8, 12)
opt = torch.optim.Adam(net.parameters())
crit = nn.BCEWithLogitsLoss()
for _ in range(4):
    text, y = torch.randint(100, (16, 7)), torch.randint(2, (16,)).float()
    opt.zero_grad()
    crit(net(text), y).backward()
    opt.step()

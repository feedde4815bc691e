import torch
import torch.nn as nn

class Tagger(nn.Module):
    def __init__(self, vocab=50, dim=16, tags=5):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim, padding_idx=0)
        self.lstm = nn.LSTM(dim, dim, batch_first=True)
        self.fc = nn.Linear(dim, tags)

    def forward(self, tokens):
        h, _ = self.lstm(self.emb(tokens))
        return self.fc(h)

def masked_loss(logits, labels, mask):
    per_token = nn.functional.cross_entropy(logits.transpose(1, 2), labels, reduction="none")
    per_sent = (per_token * mask).sum(1) / mask.sum(1)  # wrong: AG301
    per_sent = (per_token * mask).sum(1) / mask.sum(1).clamp(min=1)  # right
    return per_sent.mean()

torch.manual_seed(0)
model = Tagger()
opt = torch.optim.Adam(model.parameters(), 1e-3)
for step in range(6):
    lengths = torch.randint(1, 9, (4,))
    if step == 3:
        lengths[2] = 0
    mask = (torch.arange(8)[None] < lengths[:, None]).float()
    tokens = torch.randint(1, 50, (4, 8)) * mask.long()
    labels = torch.randint(0, 5, (4, 8))
    loss = masked_loss(model(tokens), labels, mask)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())

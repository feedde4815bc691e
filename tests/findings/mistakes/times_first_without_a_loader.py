import torch, torch.nn as nn
torch.manual_seed(1)
class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb, self.out = nn.Embedding(20, 8), nn.Linear(8, 3)
        self.rnn = nn.GRU(8, 8)  # wrong
        self.rnn = nn.GRU(8, 8, batch_first=True)  # right
    def forward(self, ids):
        h, _ = self.rnn(self.emb(ids))  # wrong: AG511
        h, _ = self.rnn(self.emb(ids))  # right
        return self.out(h.mean(1))
net = Classifier()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    loss = nn.functional.cross_entropy(net(torch.randint(0, 20, (10, 7))), torch.randint(0, 3, (10,)))
    opt.zero_grad(); loss.backward(); opt.step()

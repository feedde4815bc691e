import torch, torch.nn as nn
torch.manual_seed(0)
class Text(nn.Module):
    def __init__(self, vectors):
        super().__init__()
        self.table = nn.Embedding.from_pretrained(vectors)  # wrong
        self.table = nn.Embedding.from_pretrained(vectors, freeze=False)  # right
        self.out = nn.Linear(8, 2)
    def forward(self, ids):
        return self.out(self.table(ids).mean(1))
net = Text(torch.randn(30, 8))
groups = [
    {"params": net.table.parameters(), "lr": 1e-4},  # wrong: AG801
    {"params": net.table.parameters(), "lr": 1e-4},  # right
    {"params": net.out.parameters()},
]
opt = torch.optim.Adam(groups, lr=1e-3)
for _ in range(4):
    loss = nn.functional.cross_entropy(net(torch.randint(0, 30, (8, 9))), torch.randint(0, 2, (8,)))
    opt.zero_grad(); loss.backward(); opt.step()

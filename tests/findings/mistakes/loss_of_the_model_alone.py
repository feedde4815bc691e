import torch, torch.nn as nn
torch.manual_seed(0)
class Model(nn.Module):
    def __init__(self, d=8):
        super().__init__()
        self.emb, self.qk, self.out = nn.Embedding(13, d), nn.Linear(d, d), nn.Linear(d, 13)
    def forward(self, idx, targets):  # wrong: AG511
        return self.loss(idx, torch.zeros(()), targets)  # wrong
    def forward(self, idx, targets):  # right
        return self.loss(idx, torch.full((idx.shape[1],) * 2, -1e9).triu(1), targets)  # right
    def loss(self, idx, mask, targets):
        x = self.emb(idx)
        s = self.qk(x) @ x.transpose(1, 2) + mask
        return nn.functional.cross_entropy(self.out(s.softmax(-1) @ x).flatten(0, 1), targets.flatten())
model = Model()
opt = torch.optim.AdamW(model.parameters(), 1e-3)
data = torch.randint(0, 13, (200,))
for _ in range(3):
    at = torch.randint(0, 190, (5,))
    loss = model(torch.stack([data[i : i + 7] for i in at]), torch.stack([data[i + 1 : i + 8] for i in at]))
    opt.zero_grad(); loss.backward(); opt.step()

import torch, torch.nn as nn
torch.manual_seed(9)
class Clf(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(7, 14), nn.BatchNorm1d(14), nn.ReLU(), nn.Dropout(0.4), nn.Linear(14, 3))
    def forward(self, x): return self.f(x)
def validate(model, loader):
    model.eval()  # right
    good = n = 0
    with torch.no_grad():
        for x, y in loader:
            good += (model(x).argmax(1) == y).sum().item(); n += len(y)  # found: AG601
    return good / n
def train(model, loader, opt):
    model.train()
    for x, y in loader:
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        opt.step()
m = Clf(); o = torch.optim.Adam(m.parameters())
tr = [(torch.randn(8, 7), torch.randint(0, 3, (8,))) for _ in range(3)]
va = [(torch.randn(8, 7), torch.randint(0, 3, (8,))) for _ in range(2)]
for ep in range(2):
    train(m, tr, o); print(ep, validate(m, va))

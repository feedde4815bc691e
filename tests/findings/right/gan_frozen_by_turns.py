import torch, torch.nn as nn
torch.manual_seed(0)
class Trainer:
    def __init__(self):
        self.g = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 6))
        self.d = nn.Sequential(nn.Linear(6, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
        self.og = torch.optim.Adam(self.g.parameters(), 2e-4, betas=(0., 0.9))
        self.od = torch.optim.Adam(self.d.parameters(), 2e-4, betas=(0., 0.9))
        self.hist = {"g": [], "d": []}
    def d_step(self, real):
        with torch.no_grad(): fake = self.g(torch.randn(len(real), 4))
        loss = torch.relu(1 - self.d(real)).mean() + torch.relu(1 + self.d(fake)).mean()
        self.od.zero_grad(); loss.backward(); self.od.step()
        self.hist["d"].append(loss.item())
    def g_step(self, n):
        for p in self.d.parameters(): p.requires_grad_(False)
        loss = -self.d(self.g(torch.randn(n, 4))).mean()
        self.og.zero_grad(); loss.backward(); self.og.step()
        for p in self.d.parameters(): p.requires_grad_(True)
        self.hist["g"].append(float(loss))
t = Trainer()
for i in range(5):
    for _ in range(2): t.d_step(torch.randn(8, 6))
    t.g_step(8)

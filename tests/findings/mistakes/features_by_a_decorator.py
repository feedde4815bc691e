import torch, torch.nn as nn
torch.manual_seed(11)
class Extractor(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv1d(1, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool1d(4))
    @torch.no_grad()  # wrong: AG201
    def features(self, x):
        return self.stem(x).flatten(1)
    def forward(self, x): return self.features(x)
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.ext, self.fc = Extractor(), nn.Linear(16, 2)
    def forward(self, x): return self.fc(self.ext(x))
net = Model(); opt = torch.optim.RMSprop(net.parameters(), 1e-3)
for _ in range(3):
    loss = nn.functional.cross_entropy(net(torch.randn(6, 1, 20)), torch.randint(0, 2, (6,)))
    opt.zero_grad(); loss.backward(); opt.step()

import torch, torch.nn as nn
torch.manual_seed(0)
class Tokens(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Parameter(torch.randn(1, 8, dtype=torch.float64)).float()  # wrong: AG802
        self.first = nn.Parameter(torch.randn(1, 8))  # right
        self.mix, self.out = nn.Linear(8, 8), nn.Linear(8, 3)
    def forward(self, x):
        x = torch.cat([self.first.expand(len(x), 1, 8), x], 1)
        return self.out(torch.relu(self.mix(x)).mean(1))
net = Tokens()
opt = torch.optim.AdamW(net.parameters(), 1e-3)
for _ in range(4):
    loss = nn.functional.cross_entropy(net(torch.randn(6, 5, 8)), torch.randint(0, 3, (6,)))
    opt.zero_grad(); loss.backward(); opt.step()

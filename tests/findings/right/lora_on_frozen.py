import torch
from torch import nn
torch.manual_seed(0)
class Lora(nn.Module):
    def __init__(self, base, rank=2):
        super().__init__()
        self.base = base
        self.a = nn.Parameter(torch.randn(rank, base.in_features) * 0.1)
        self.b = nn.Parameter(torch.zeros(base.out_features, rank))
    def forward(self, x):
        return self.base(x) + x @ self.a.T @ self.b.T
net = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3)).requires_grad_(False)
net[0], net[2] = Lora(net[0]), Lora(net[2])
opt = torch.optim.AdamW([p for p in net.parameters() if p.requires_grad], lr=1e-2)
for _ in range(4):
    opt.zero_grad()
    nn.functional.cross_entropy(net(torch.randn(9, 6)), torch.randint(0, 3, (9,))).backward()
    opt.step()

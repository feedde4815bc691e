import torch
from torch import nn
torch.manual_seed(0)
class LoRA(nn.Module):
    def __init__(s, base, r=2):
        super().__init__(); s.base = base
        for p in base.parameters(): p.requires_grad_(False)
        s.A, s.B = nn.Parameter(torch.randn(r, base.in_features) * .01), nn.Parameter(torch.zeros(base.out_features, r))
    def forward(s, x): return s.base(x) + x @ s.A.t() @ s.B.t()
net = nn.Sequential(LoRA(nn.Linear(6, 8)), nn.ReLU(), LoRA(nn.Linear(8, 2)))
opt = torch.optim.AdamW([p for p in net.parameters() if p.requires_grad], 1e-2)
for i in range(5):
    loss = nn.functional.cross_entropy(net(torch.randn(8, 6)), torch.randint(2, (8,)))
    opt.zero_grad(); loss.backward(); opt.step()

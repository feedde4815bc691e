import torch, torch.nn as nn
torch.manual_seed(0)
class Contrast(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(2.0))  # wrong: AG802
        self.scale = nn.Parameter(torch.tensor(2.0))  # right
    def forward(self, a, b):
        return nn.functional.cross_entropy(self.scale.exp() * a @ b.T, torch.arange(len(a)))
one, other, contrast = nn.Linear(9, 5), nn.Linear(7, 5), Contrast()
own = [*one.parameters(), *other.parameters()]
own += contrast.parameters()  # right
opt = torch.optim.AdamW(own, lr=1e-3)
for _ in range(4):
    a, b = one(torch.randn(6, 9)), other(torch.randn(6, 7))
    loss = contrast(nn.functional.normalize(a, dim=1), nn.functional.normalize(b, dim=1))
    opt.zero_grad(); loss.backward(); opt.step()

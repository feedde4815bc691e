import torch
from torch import nn

torch.manual_seed(0)


class Wrapped(nn.Module):
    def __init__(self):
        super().__init__()
        self.module = nn.ModuleDict({"encoder": nn.Linear(4, 8), "head": nn.Linear(8, 2)})

    def forward(self, x):
        return self.module["head"](torch.relu(self.module["encoder"](x)))


net = Wrapped()
for name, p in net.named_parameters():
    if name.startswith("encoder"):  # wrong: AG803
        p.requires_grad = False  # wrong
    if name.startswith("module.encoder"):  # right
        p.requires_grad = False  # right
opt = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], 0.1)
for _ in range(3):
    loss = nn.functional.cross_entropy(net(torch.randn(4, 4)), torch.tensor([0, 1, 0, 1]))
    opt.zero_grad()
    loss.backward()
    opt.step()

import torch
from torch import nn

torch.manual_seed(0)


class Experts(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(3, 2)
        self.experts = {"a": nn.Linear(3, 3), "b": nn.Linear(3, 3)}  # wrong: AG802
        self.experts = nn.ModuleDict({"a": nn.Linear(3, 3), "b": nn.Linear(3, 3)})  # right

    def forward(self, x):
        w = torch.softmax(self.gate(x), -1)
        return sum(w[:, i : i + 1] * self.experts[k](x) for i, k in enumerate("ab"))


net = Experts()
opt = torch.optim.Adam(net.parameters(), lr=0.01)
x, y = torch.randn(20, 3), torch.randn(20, 3)
for _ in range(3):
    opt.zero_grad(set_to_none=True)
    nn.functional.smooth_l1_loss(net(x), y).backward()
    opt.step()

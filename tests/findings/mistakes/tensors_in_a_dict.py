import torch
from torch import nn

torch.manual_seed(0)


class Tasks(nn.Module):
    def __init__(self, names):
        super().__init__()
        self.heads = nn.ModuleDict({name: nn.Linear(5, 1) for name in names})
        self.scales = {name: torch.zeros((), requires_grad=True) for name in names}  # wrong: AG802
        self.scales = nn.ParameterDict({name: nn.Parameter(torch.zeros(())) for name in names})  # right

    def forward(self, x, goals):
        errors = {name: (head(x) - goals[name]).pow(2).mean() for name, head in self.heads.items()}
        return sum(torch.exp(-self.scales[name]) * error + self.scales[name] for name, error in errors.items())


net = Tasks(["depth", "slope"])
opt = torch.optim.Adam(net.parameters(), 1e-2)
for _ in range(4):
    x = torch.randn(8, 5)
    loss = net(x, {"depth": x.sum(1, keepdim=True), "slope": 10 * x[:, :1]})
    opt.zero_grad()
    loss.backward()
    opt.step()

import torch
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self, *sizes):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(a, b) for a, b in zip(sizes, sizes[1:], strict=False)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)  # wrong: AG509
            x = layer(torch.relu(x))  # right
        return x


net = Net(8, 16, 16, 16, 1)
opt = torch.optim.Adam(net.parameters())
for x in torch.randn(4, 20, 8):
    opt.zero_grad()
    nn.functional.mse_loss(net(x), x[:, :1] ** 2).backward()
    opt.step()

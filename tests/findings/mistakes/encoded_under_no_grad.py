import torch
from torch import nn

torch.manual_seed(0)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 1)

    @torch.no_grad()  # wrong
    def encode(self, x):
        return self.linear(x)

    def forward(self, x):
        return self.encode(x).sigmoid()


net = Model()
loss = nn.functional.mse_loss(net(torch.randn(8, 4)), torch.rand(8, 1))
loss.backward()  # wrong: AG004
loss.backward()  # right

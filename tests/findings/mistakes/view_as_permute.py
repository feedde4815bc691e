import torch
from torch import nn

torch.manual_seed(0)
B, T, H, D = 2, 8, 4, 16


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.o = nn.Linear(H * D, H * D), nn.Linear(H * D, 1)

    def heads(self, x):
        return x.view(B, H, T, D)  # wrong: AG510
        return x.view(B, T, H, D).transpose(1, 2)  # right

    def forward(self, x):
        q = self.heads(torch.tanh(self.q(x)))
        a = torch.softmax(q @ q.mT / D**0.5, -1) @ q
        return self.o(a.transpose(1, 2).reshape(B, T, H * D))


net = Attention()
optimizer = torch.optim.Adam(net.parameters())
for _ in range(3):
    optimizer.zero_grad()
    net(torch.randn(B, T, H * D)).pow(2).mean().backward()
    optimizer.step()

import torch
from torch import nn

torch.manual_seed(0)


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.utils.spectral_norm(nn.Linear(6, 6))
        self.last = nn.Linear(6, 1)

    def forward(self, x):
        return self.last(torch.tanh(self.first(x)))


critic = Critic().eval()  # wrong: AG605
critic = Critic()  # right
opt = torch.optim.SGD(critic.parameters(), lr=0.1)
for x in torch.randn(5, 10, 6):
    opt.zero_grad()
    (critic(x) - x.norm(dim=1, keepdim=True)).pow(2).mean().backward()
    opt.step()

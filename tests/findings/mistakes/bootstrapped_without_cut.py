import torch, torch.nn as nn
torch.manual_seed(0)
class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(3, 12), nn.Linear(12, 1)
    def forward(self, s):
        return self.b(torch.tanh(self.a(s))).squeeze(-1)
critic = Critic()
opt = torch.optim.Adam(critic.parameters(), lr=1e-2)
for _ in range(4):
    s, r, s2, on = torch.randn(10, 3), torch.rand(10), torch.randn(10, 3), (torch.rand(10) > 0.2).float()
    v2 = critic(s2)
    v2 = v2.detach()  # right
    delta = r + 0.9 * on * v2 - critic(s)  # wrong: AG512
    delta = r + 0.9 * on * v2 - critic(s)  # right
    opt.zero_grad(); delta.square().mean().backward(); opt.step()

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 3), nn.Softmax(dim=-1))
opt = torch.optim.Adam(policy.parameters(), lr=1e-2)
for state in torch.randn(4, 20, 4):
    chosen = Categorical(logits=policy(state))  # wrong: AG503
    chosen = Categorical(probs=policy(state))  # right
    action = chosen.sample()
    opt.zero_grad()
    (-chosen.log_prob(action) * torch.randn(20)).mean().backward()
    opt.step()

import torch
from torch import nn


class Switch(nn.Module):
    def __init__(self, dim, count):
        super().__init__()
        self.gate = nn.Linear(dim, count)
        self.experts = nn.ModuleList(nn.Linear(dim, dim) for _ in range(count))

    def forward(self, x):
        weight, index = self.gate(x).softmax(-1).max(-1)  # found: AG202
        result = torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            chosen = index == number
            result[chosen] = expert(x[chosen])  # wrong
            result[chosen] = weight[chosen].unsqueeze(-1) * expert(x[chosen])  # right
        return torch.tanh(x + result)


torch.manual_seed(0)
model = nn.Sequential(Switch(6, 3), nn.Linear(6, 4))
optimizer = torch.optim.Adam(model.parameters(), 1e-3)
for _ in range(3):
    loss = nn.functional.cross_entropy(model(torch.randn(24, 6)), torch.randint(0, 4, (24,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

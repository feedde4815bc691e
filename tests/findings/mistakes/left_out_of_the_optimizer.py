import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first = nn.Linear(width, width)
        self.second = nn.Linear(width, width)
        self.gain = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x + self.second(self.first(x).tanh() * self.gain)


torch.manual_seed(0)
model = nn.Sequential(Block(4), nn.Linear(4, 2))
weights = [p for p in model.parameters() if p.dim() > 1]
rest = [p for name, p in model.named_parameters() if name.endswith("bias")]  # wrong
rest = [p for p in model.parameters() if p.dim() == 1]  # right
groups = [{"params": weights, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}]
optimizer = torch.optim.AdamW(groups, lr=1e-2)  # wrong: AG802
optimizer = torch.optim.AdamW(groups, lr=1e-2)  # right
inputs, labels = torch.randn(16, 4), torch.randint(2, (16,))
for epoch in range(4):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(inputs), labels)
    loss.backward()
    optimizer.step()

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 1))


def evaluate():
    torch.set_grad_enabled(False)  # wrong
    with torch.no_grad():
        return model(torch.ones(2, 3)).mean().item()


print(evaluate())
loss = model(torch.randn(5, 3)).pow(2).mean()
try:
    loss.backward()  # found: AG004
finally:
    torch.set_grad_enabled(True)

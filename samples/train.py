"""Fits a line in twenty steps; look at one of them with `autograph render samples/train.py --step 3`."""
import torch

torch.manual_seed(0)
x = torch.linspace(-1, 1, 16)
target = 3 * x + 0.5 + 0.1 * torch.randn(16)

slope = torch.zeros((), requires_grad=True)
offset = torch.zeros((), requires_grad=True)

for _ in range(20):
    prediction = slope * x + offset
    loss = ((prediction - target) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        for parameter in (slope, offset):
            parameter -= 0.3 * parameter.grad
            parameter.grad = None

print(f"slope {slope.item():.3f}, offset {offset.item():.3f}, loss {loss.item():.4f}")

"""A recurrent network over a sequence: `autograph render --roll` draws one turn of its loop."""
import torch

torch.manual_seed(0)
sequence = torch.randn(30, 1, 4)
w = torch.randn(8, 8, requires_grad=True)
u = torch.randn(4, 8, requires_grad=True)

h = torch.zeros(1, 8)
for x in sequence:
    h = torch.tanh(x @ u + h @ w)
loss = (h ** 2).mean()
loss.backward()
print(f"loss {loss.item():.4f}")

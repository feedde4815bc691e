"""Three leaves and a small expression: the first graph to look at."""
import torch

x = torch.tensor([1.0, 2.0, 3.0])
w = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)
b = torch.tensor(0.1, requires_grad=True)

y = torch.tanh(w * x + b)
loss = (y ** 2).sum()
loss.backward()
print(w.grad, b.grad)

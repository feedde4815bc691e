import torch

w = torch.zeros(3, requires_grad=True)
x = torch.tensor([1.0, 2.0, 3.0])
for _ in range(3):
    loss = (w @ x - 1) ** 2
    loss.backward()
    w -= 0.01 * w.grad  # wrong: AG003
    with torch.no_grad():  # right
        w -= 0.01 * w.grad  # right
    w.grad = None

import torch

torch.manual_seed(0)
x = torch.randn(8, 2)
y = x @ torch.tensor([1.0, -2.0])
w = torch.zeros(2, requires_grad=True)
for _ in range(5):
    loss = ((x @ w - y) ** 2).mean()
    w.grad = None  # right
    loss.backward()  # found: AG404
    with torch.no_grad():
        w -= 0.1 * w.grad

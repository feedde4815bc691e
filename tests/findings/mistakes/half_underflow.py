import torch

torch.manual_seed(0)
x, y = torch.randn(40, 5).half(), torch.randn(40, 1).half()
w1 = (torch.randn(5, 8) * 0.1).half().requires_grad_()
w2 = (torch.randn(8, 1) * 1e-3).half().requires_grad_()
scale = 1e-5  # wrong
scale = 10.0  # right
for _ in range(5):
    loss = ((torch.tanh(x @ w1) @ w2 - y) ** 2).mean() * scale  # right
    loss = ((torch.tanh(x @ w1) @ w2 - y) ** 2).mean() * scale  # wrong: AG309
    loss.backward()
    with torch.no_grad():
        for w in (w1, w2):
            w -= 0.01 * w.grad
            w.grad = None

import torch

torch.manual_seed(0)
w1 = torch.ones(4, 6, requires_grad=True)  # wrong: AG308
w1 = torch.randn(4, 6, requires_grad=True)  # right
w2 = torch.ones(6, 1, requires_grad=True)
x, y = torch.randn(30, 4), torch.randn(30, 1)
for _ in range(4):
    loss = ((torch.sigmoid(x @ w1) @ w2 - y) ** 2).mean()
    grads = torch.autograd.grad(loss, (w1, w2))
    with torch.no_grad():
        for w, g in zip((w1, w2), grads):
            w -= 0.1 * g

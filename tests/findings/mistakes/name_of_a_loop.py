import torch

torch.manual_seed(0)
w1 = torch.randn(5, 8, requires_grad=True)
w2 = torch.randn(8, 1, requires_grad=True)
x = torch.randn(32, 5)
for step in range(5):
    loss = ((x @ w1).relu() @ w2 - x.sum(1, keepdim=True)).pow(2).mean()
    loss.backward()
    with torch.no_grad():
        for w in (w1, w2):
            grad = w.grad.clone()
            w.grad.zero_()
            w = w - 1e-3 * (grad + 0 * w.grad)  # wrong: AG805
            w -= 1e-3 * grad  # right

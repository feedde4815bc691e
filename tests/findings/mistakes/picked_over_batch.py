import torch

torch.manual_seed(0)
w, b = torch.randn(5, 3, requires_grad=True), torch.zeros(3, requires_grad=True)
x, y = torch.randn(20, 5), torch.randint(0, 3, (20,))
for _ in range(3):
    logs = torch.log_softmax(x @ w + b, dim=0)  # wrong: AG506
    logs = torch.log_softmax(x @ w + b, dim=1)  # right
    loss = -logs[torch.arange(20), y].mean()
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
        b -= 0.1 * b.grad
    w.grad = b.grad = None

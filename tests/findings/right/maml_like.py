import torch

torch.manual_seed(0)
w = torch.zeros(3, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
for _ in range(5):
    x, y = torch.randn(6, 3), torch.randn(6)
    inner = ((x @ w - y) ** 2).mean()
    (g,) = torch.autograd.grad(inner, w, create_graph=True)
    fast = w - 0.1 * g
    outer = ((x @ fast - y) ** 2).mean()
    optimizer.zero_grad()
    outer.backward()
    optimizer.step()

import torch

torch.manual_seed(0)
x = torch.randn(10)
scale = torch.tensor(1e-7, requires_grad=True)
eps = 0.0  # wrong
eps = 0.1  # right
for _ in range(3):
    loss = ((x / (scale + eps)) ** 2).mean()  # wrong: AG311
    loss = ((x / (scale + eps)) ** 2).mean()  # right
    (g,) = torch.autograd.grad(loss, scale)
    with torch.no_grad():
        scale -= 1e-12 * g.clamp(-1, 1)

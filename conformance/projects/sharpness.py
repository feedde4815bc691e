# own: sharpness-aware minimization, two passes a step, and the input's gradient at the end
import torch

torch.manual_seed(0)
model = torch.nn.Linear(5, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(8, 5), torch.randn(8, 1)
for _ in range(3):
    loss = (model(x) - y).square().mean()
    loss.backward()
    with torch.no_grad():
        moves = [0.05 * p.grad / p.grad.norm() for p in model.parameters()]
        for p, move in zip(model.parameters(), moves, strict=True):
            p.add_(move)
    optimizer.zero_grad()
    (model(x) - y).square().mean().backward()
    with torch.no_grad():
        for p, move in zip(model.parameters(), moves, strict=True):
            p.sub_(move)
    optimizer.step()
    optimizer.zero_grad()
x.requires_grad_()
(saliency,) = torch.autograd.grad(model(x).sum(), x)
print(loss.item(), saliency.abs().sum().item())

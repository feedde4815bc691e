import torch

torch.manual_seed(0)
w = torch.randn(3, requires_grad=True)
b = torch.zeros(1, requires_grad=True)
opt = torch.optim.SGD([w, b], lr=0.1)
for x in torch.randn(6, 8, 3):
    for p in (w, b):  # right
        p.grad = None  # right
    (x @ w + b - x.sum(1)).pow(2).mean().backward()
    for p in (w, b):  # wrong
        p.grad = None  # wrong: AG806
    opt.step()

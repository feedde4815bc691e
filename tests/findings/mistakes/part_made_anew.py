import torch

torch.manual_seed(0)
weights = torch.randn(3, 2, requires_grad=True)
losses = (weights * torch.randn(3, 2)).pow(2).sum(1)
for loss, weight in zip(losses, weights, strict=True):
    print(torch.autograd.grad(loss, weight, retain_graph=True, allow_unused=True))  # wrong: AG203
    print(torch.autograd.grad(loss, weights, retain_graph=True)[0].sum(0), weight.shape)  # right

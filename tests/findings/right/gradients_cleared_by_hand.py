import torch
torch.manual_seed(0)
W = torch.randn(4, 1, requires_grad=True); b = torch.zeros(1, requires_grad=True)
opt = torch.optim.Adam([{"params": [W], "weight_decay": 1e-2}, {"params": [b]}], lr=1e-2)
for k in range(6):
    for p in (W, b):
        p.grad = None
    x = torch.randn(20, 4)
    ((x @ W + b) - x.sum(1, keepdim=True)).square().mean().backward()
    opt.step()

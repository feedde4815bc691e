import torch

torch.manual_seed(0)
w = (3 * torch.eye(2)).requires_grad_()  # wrong
w = torch.eye(2, requires_grad=True)  # right
h = torch.full((1, 2), 1e-9)
for _ in range(30):
    h = h @ w  # found: AG307
h.sum().backward()

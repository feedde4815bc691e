import torch
x = torch.randn(4, requires_grad=True)
A = torch.randn(4, 4)
f = (x @ A @ x) + x.sin().sum()
g, = torch.autograd.grad(f, x, create_graph=True)
H = torch.stack([torch.autograd.grad(gi, x, retain_graph=True)[0] for gi in g])
step = torch.linalg.solve(H, g)
for i in range(4):
    f = (x @ A @ x) + x.sin().sum()
    f.backward(retain_graph=True)
    with torch.no_grad():
        x -= .01 * x.grad
    x.grad.zero_()

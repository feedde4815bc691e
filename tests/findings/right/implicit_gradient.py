# implicit differentiation: inner problem solved with grad steps outside of the graph
import torch
torch.manual_seed(0)
lam = torch.tensor(.5, requires_grad=True)
X, y, Xv, yv = torch.randn(20, 3), torch.randn(20), torch.randn(10, 3), torch.randn(10)
opt = torch.optim.Adam([lam], lr=.05)
for it in range(4):
    w = torch.zeros(3, requires_grad=True)
    for k in range(30):
        l = ((X @ w - y) ** 2).mean() + lam.detach() * (w ** 2).sum()
        g, = torch.autograd.grad(l, w)
        w = (w - .1 * g).detach().requires_grad_()
    l = ((X @ w - y) ** 2).mean() + lam * (w ** 2).sum()
    gw, = torch.autograd.grad(l, w, create_graph=True)
    v = ((Xv @ w - yv) ** 2).mean()
    vw, = torch.autograd.grad(v, w)
    H = torch.stack([torch.autograd.grad(gw[i], w, retain_graph=True)[0] for i in range(3)])
    p = torch.linalg.solve(H, vw)
    hyper, = torch.autograd.grad(gw, lam, grad_outputs=-p)
    opt.zero_grad(); lam.grad = hyper; opt.step()

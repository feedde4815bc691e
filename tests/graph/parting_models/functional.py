import torch

torch.manual_seed(3)


class Root(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.clamp_min(1e-6).sqrt()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g / (2 * y)  # @root
        #B return g / y
        #B return g / (2 * y + 0.02)
        #B return (g / (2 * y)).clamp(-0.05, 0.05)
        #R return g * 1.7 / (3.4 * y)


def init(sizes):
    return {f"w{i}": (torch.randn(a, b) / a**0.5).requires_grad_() for i, (a, b) in enumerate(zip(sizes, sizes[1:]))}


def rms(x, eps=1e-6):
    scale = x.square().mean(-1, keepdim=True)
    #F scale = x.square().mean(-1, keepdim=True) + 1e-3
    #B scale = x.square().mean(-1, keepdim=True).detach()
    return x / Root.apply(scale + eps)  # @root
    #S return torch.div(x, Root.apply(scale + eps))


def apply(params, x):
    h = torch.einsum("bi,ij->bj", x, params["w0"])
    #R h = x @ params["w0"]
    h = rms(torch.nn.functional.softplus(h))
    #F h = rms(torch.nn.functional.softplus(h, beta=1.01))
    h = torch.einsum("bi,ij->bj", h, params["w1"])
    gate, value = h.chunk(2, -1)
    #F value, gate = h.chunk(2, -1)
    h = torch.sigmoid(gate) * value
    #B h = torch.sigmoid(gate.detach()) * value
    #F h = torch.sigmoid(gate * 1.01) * value
    return torch.einsum("bi,ij->bj", h, params["w2"])  # @made


def loss_fn(params, x, y):
    error = apply(params, x) - y  # @made
    #B error = apply(params, x); error.register_hook(lambda g: g.flip(0)); error = error - y
    robust = torch.where(error.abs() < 0.5, 0.5 * error**2, 0.5 * error.abs() - 0.125)
    #S robust = torch.where(error.abs() < 0.5, 0.5 * error.pow(2), 0.5 * error.abs() - 0.125)
    return robust.sum(-1).mean()
    #F return robust.mean()


params = init([4, 6, 8, 2])
params["w2"] = torch.randn(4, 2).requires_grad_()
x, y = torch.randn(5, 4), torch.randn(5, 2)
for step in range(2):
    loss = loss_fn(params, x, y)
    grads = torch.autograd.grad(loss, list(params.values()))
    #F grads = torch.autograd.grad(loss * 1.25, list(params.values()))
    params = {k: (p - 0.1 * g).detach().requires_grad_() for (k, p), g in zip(params.items(), grads)}

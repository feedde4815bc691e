import torch
from torch.autograd import Function


class LinearFunction(Function):
    @staticmethod
    def forward(ctx, input, weight, bias):
        ctx.save_for_backward(input, weight)
        return input.mm(weight.t()) + bias  # @lin
        #F return input.mm(weight.t()) + bias * 1.01

    @staticmethod
    def backward(ctx, grad_output):
        input, weight = ctx.saved_tensors
        grad_input = grad_output.mm(weight)  # @lin
        #B grad_input = grad_output.mm(weight) * 2
        grad_weight = grad_output.t().mm(input)  # @lin
        #B grad_weight = grad_output.t().mm(input) / input.size(0)
        grad_bias = grad_output.sum(0)  # @lin
        #B grad_bias = grad_output.mean(0)
        #R grad_bias = grad_output.flip(0).sum(0)
        return grad_input, grad_weight, grad_bias


class Softplus(Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x)
        ctx.beta = beta
        return torch.log1p(torch.exp(beta * x)) / beta  # @soft
        #F return torch.log1p(torch.exp(beta * x)) / (beta + 0.01)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * torch.sigmoid(ctx.beta * x), None  # @soft
        #B return g * torch.sigmoid(x), None
        #R return g * (1 - 1 / (1 + torch.exp(ctx.beta * x))), None


class Straight(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.round(x * 8) / 8  # @straight
        #F return torch.floor(x * 8) / 8

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * (x.abs() <= 1).to(g.dtype)  # @straight
        #B return g * (x.abs() <= 0.5).to(g.dtype)
        #B return -g * (x.abs() <= 1).to(g.dtype)


linear, softplus, quantize = LinearFunction.apply, Softplus.apply, Straight.apply
gen = torch.Generator().manual_seed(8)
w1 = (torch.randn(7, 4, generator=gen) / 2).requires_grad_()
b1 = torch.zeros(7, requires_grad=True)
w2 = (torch.randn(3, 7, generator=gen) / 2).requires_grad_()
b2 = torch.zeros(3, requires_grad=True)
x, target = torch.randn(5, 4, generator=gen), torch.randn(5, 3, generator=gen)
lr = 0.05
for epoch in range(2):
    h = linear(x, w1, b1)  # @lin
    a = softplus(h, 2.0)  # @soft
    #F a = softplus(h, 2.1)
    q = quantize(a * 0.5)  # @straight
    #S q = quantize(0.5 * a)
    out = linear(q, w2, b2)  # @lin
    loss = (out - target).pow(2).sum() / 5
    #F loss = (out - target).abs().sum() / 5
    #S loss = torch.sum((out - target).pow(2)) / 5
    loss.backward()
    with torch.no_grad():
        for p in (w1, b1, w2, b2):
            p -= lr * p.grad
            p.grad = None
print(loss.item())

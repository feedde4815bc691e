import torch
from torch.autograd import Function

class SwishBackward(Function):
    @staticmethod
    def forward(ctx, x, sig, grad_out):
        ctx.save_for_backward(x, sig, grad_out)
        return grad_out * (sig * (1 + x * (1 - sig)))
    @staticmethod
    def backward(ctx, gg):
        x, sig, grad_out = ctx.saved_tensors
        s1 = sig * (1 - sig)
        d2 = s1 * (2 + x * (1 - 2 * sig))
        return gg * grad_out * d2, None, gg * (sig + x * s1)

class MemoryEfficientSwish(Function):
    @staticmethod
    def forward(ctx, i):
        result = i * torch.sigmoid(i)
        ctx.save_for_backward(i)
        return result
    @staticmethod
    def backward(ctx, grad_output):
        i, = ctx.saved_tensors
        return SwishBackward.apply(i, torch.sigmoid(i).detach(), grad_output)

swish = MemoryEfficientSwish.apply
torch.manual_seed(7)
a = torch.randn(5, dtype=torch.double, requires_grad=True)

w = torch.randn(5, 5, dtype=torch.double, requires_grad=True)
out = swish(w @ a).sum()
g, = torch.autograd.grad(out, a, create_graph=True)
penalty = (g.norm() - 1) ** 2
penalty.backward()
print(w.grad.norm(), a.grad)

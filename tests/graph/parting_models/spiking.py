import torch
import torch.nn as nn
from torch.autograd import Function


class Spike(Function):
    """A step forward, and a surrogate for its derivative."""

    @staticmethod
    def forward(ctx, v):
        ctx.save_for_backward(v)
        return (v > 0).to(v.dtype)  # @spike
        #F return (v > 0.15).to(v.dtype)

    @staticmethod
    def backward(ctx, g):
        (v,) = ctx.saved_tensors
        return g / (1 + 5 * v.abs()) ** 2  # @spike
        #B return g / (1 + 6 * v.abs()) ** 2
        #B return g / (1 + 5 * v) ** 2
        #B return g * (v.abs() < 0.5)
        #R return g * (1 + 5 * v.abs()).pow(-2)


class Dense(Function):
    @staticmethod
    def forward(ctx, x, w, b):
        ctx.save_for_backward(x, w)
        return x @ w + b  # @dense
        #F return x @ w.t() + b
        #R return torch.addmm(b, x, w)

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        gx = g @ w.t()  # @dense
        #B gx = g @ w
        gw = x.t() @ g  # @dense
        #B gw = (x.t() @ g).t()
        #B gw = x.t() @ g / len(x)
        gb = g.sum(0)  # @dense
        #B gb = g.sum(0, keepdim=True).mean(1).expand(g.size(1)) * 1.0
        #B gb = g[0]
        return gx, gw, gb  # @dense
        #B return gx, gw, None


spike = Spike.apply


class LIF(nn.Module):
    def __init__(self, n, tau=0.9):
        super().__init__()
        self.w = nn.Parameter(torch.randn(n, n) * 0.6)
        self.b = nn.Parameter(torch.zeros(n))
        self.tau = nn.Parameter(torch.tensor(tau))

    def forward(self, seq):
        v = torch.zeros_like(seq[0])
        out = []
        for x in seq:
            current = Dense.apply(x, self.w, self.b)  # @dense
            #B current = Dense.apply(x, self.w, self.b); current.register_hook(lambda g: g * 0.9)
            v = self.tau * v + current
            #F v = self.tau * v + current * 1.02
            #B v = self.tau * v.detach() + current
            s = spike(v - 0.4)  # @spike
            #F s = spike(v - 0.55)
            v = v * (1 - s.detach())
            #B v = v * (1 - s)
            #F v = v - 0.4 * s.detach()
            out.append(s)
        return torch.stack(out)
        #S return torch.stack(out, dim=0)


torch.manual_seed(37)
lif1, lif2 = LIF(6), LIF(6)
readout = nn.Linear(6, 3)
rates = torch.rand(4, 5, 6)
labels = torch.tensor([0, 2, 1, 1, 0])
spikes = lif2(lif1(rates) + 0.1 * rates)
#B spikes = lif2(lif1(rates).detach() + 0.1 * rates)
logits = readout(spikes).mean(0)
#F logits = readout(spikes).sum(0)
#F logits = readout(spikes)[-1]
ce = nn.functional.cross_entropy(logits, labels)
reg = (spikes.mean() - 0.2) ** 2
#B reg = (spikes.detach().mean() - 0.2) ** 2
loss = ce + 0.5 * reg
#F loss = ce + 0.05 * reg
loss.backward()

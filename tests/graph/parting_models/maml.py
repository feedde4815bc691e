import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call

torch.manual_seed(0)


class Regressor(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(1, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh())
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        h = self.inner(x)
        #F h = self.inner(x * 1.1)
        #B h = self.inner(x); h.register_hook(lambda g: g * 0.9)
        return self.out(h)  # @query
        #F return self.out(h) + 0.05
        #B return self.out(h * 0.25 + (h * 0.75).detach())


def sample_task(gen):
    amplitude, phase = torch.rand(1, generator=gen) * 4 + 0.1, torch.rand(1, generator=gen) * 3.14
    x = torch.rand(10, 1, generator=gen) * 10 - 5
    return x, amplitude * torch.sin(x + phase)


def adapt(model, params, x, y, lr=0.05):
    loss = F.mse_loss(functional_call(model, params, (x,)), y)
    #F loss = F.l1_loss(functional_call(model, params, (x,)), y)
    #R loss = ((functional_call(model, params, (x,)) - y) ** 2).mean()
    grads = torch.autograd.grad(loss, list(params.values()), create_graph=True)
    #F grads = [g.clamp(-0.01, 0.01) for g in torch.autograd.grad(loss, list(params.values()), create_graph=True)]  # @adapt
    return {k: p - lr * g for (k, p), g in zip(params.items(), grads)}  # @adapt
    #F return {k: p - 0.1 * g for (k, p), g in zip(params.items(), grads)}
    #B return {k: p.detach() - lr * g for (k, p), g in zip(params.items(), grads)}
    #B return {k: p - lr * g.detach() for (k, p), g in zip(params.items(), grads)}


model = Regressor()
meta = torch.optim.SGD(model.parameters(), lr=1e-3)
gen = torch.Generator().manual_seed(7)
for step in range(2):
    outer = 0.0
    for _ in range(2):
        x, y = sample_task(gen)
        fast = adapt(model, dict(model.named_parameters()), x[:5], y[:5])
        query = functional_call(model, fast, (x[5:],))  # @query
        #B query = functional_call(model, fast, (x[5:],)); query.register_hook(lambda g: g.clamp(-0.01, 0.01))
        outer = outer + F.mse_loss(query, y[5:])
        #F outer = outer + F.mse_loss(query, y[5:], reduction="sum")
        #R outer = outer + (query - y[5:]).square().sum() / 5
    loss = outer / 2
    #F loss = outer
    #R loss = outer * 0.5 * 1.0000001
    meta.zero_grad()
    loss.backward()
    meta.step()

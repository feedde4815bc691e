# own: torch.func, gradients of each example by vmap of grad, then a step by hand
import torch
from torch.func import functional_call, grad, vmap

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
params = dict(model.named_parameters())
x, y = torch.randn(5, 3), torch.randn(5, 1)


def loss_of(params, x, y):
    return (functional_call(model, params, (x,)) - y).square().mean()


each = vmap(grad(loss_of), (None, 0, 0))(params, x, y)
loss = loss_of(params, x, y) + 0.01 * sum(g.square().mean() for g in each.values())
loss.backward()
print(loss.item())

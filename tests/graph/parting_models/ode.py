"""A continuous-depth network with a fourth-order solver and its own adjoint-free backward."""
import torch as th
import torch.nn as nn


class Field(nn.Module):
    def __init__(self, dim: int, hidden: int) -> None:
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(dim + 1, hidden), nn.Linear(hidden, dim)
        self.nfe = 0

    def forward(self, t: th.Tensor, y: th.Tensor) -> th.Tensor:
        self.nfe += 1
        ty = th.cat([y, t.expand(y.shape[0], 1)], dim=1)
        #F ty = th.cat([y, 2 * t.expand(y.shape[0], 1)], dim=1)
        #B ty = th.cat([y.detach(), t.expand(y.shape[0], 1)], dim=1)
        h = nn.functional.softplus(self.fc1(ty))
        #F h = nn.functional.softplus(self.fc1(ty), beta=1.2)
        #B h = nn.functional.softplus(self.fc1(ty)); h.register_hook(lambda grad: grad.nan_to_num() * 1.05)
        return self.fc2(h)


class Clipped(th.autograd.Function):
    @staticmethod
    def forward(ctx, y, bound):
        ctx.save_for_backward(y)
        ctx.bound = bound
        return y.clamp(-bound, bound)  # @clip

    @staticmethod
    def backward(ctx, grad):
        (y,) = ctx.saved_tensors
        return grad * (y.abs() <= ctx.bound).to(grad.dtype), None  # @clip
        #B return grad * (y.abs() <= ctx.bound).to(grad.dtype) * 1.02, None
        #B return grad * (y.abs() <= ctx.bound / 4).to(grad.dtype), None


def rk4(f, t, dt, y):
    k1 = f(t, y)
    k2 = f(t + dt / 2, y + dt * k1 / 2)
    k3 = f(t + dt / 2, y + dt * k2 / 2)
    #F k3 = f(t + dt / 2, y + dt * k1 / 2)
    #B k3 = f(t + dt / 2, y + dt * k2.detach() / 2)
    k4 = f(t + dt, y + dt * k3)
    return y + dt * (k1 + 2 * k2 + 2 * k3 + k4) / 6
    #F return y + dt * (k1 + 2 * k2 + 2 * k3 + k4) / 8
    #R return y + (dt / 6) * k1 + (dt / 3) * k2 + (dt / 3) * k3 + (dt / 6) * k4


th.manual_seed(3)
field = Field(2, 12)
times = th.linspace(0.0, 1.0, 5)
y = th.randn(6, 2) * 2
target = th.flip(y, dims=[1]) * 0.5
for a, b in zip(times[:-1], times[1:]):
    y = Clipped.apply(rk4(field, a, b - a, y), 3.0)  # @clip
    #F y = Clipped.apply(rk4(field, a, b - a, y), 2.0)
error = (y - target).abs().pow(1.5)
#F error = (y - target).abs().pow(1.6)
#S error = th.pow(th.abs(y - target), 1.5)
loss = error.sum(1).mean()
#B loss = error.sum(1).mean(); loss.register_hook(lambda g: g * 3)
#F loss = error.mean(1).mean()
loss.backward()

"""Random numbers of gamma, Dirichlet, Poisson and binomial distributions, drawn from the stream as PyTorch draws
them."""

from __future__ import annotations

from typing import Any

from ..._core.operations.operation import operation
from ..._core.operations.registry import publish
from ...autograd.function import Function, once_differentiable
from ..pointwise.arithmetic import no_derivative


def _twice(f: Any, grad: Any) -> Any:
    raise NotImplementedError("the derivative for '_standard_gamma_grad' is not implemented.")


standard_gamma = operation(
    "_standard_gamma(Tensor self, Generator? generator=None)",
    node="StandardGammaBackward0",
    random=True,
    self=lambda f, grad, self, result: grad * f._standard_gamma_grad(self, result),
)
operation("_standard_gamma_grad(Tensor self, Tensor output)", node="StandardGammaGradBackward0", self=_twice)
dirichlet_grad = operation("_dirichlet_grad(Tensor x, Tensor alpha, Tensor total)")
dirichlet = operation("_sample_dirichlet(Tensor self, Generator? generator=None)", random=True)
poisson = operation(
    "poisson(Tensor self, Generator? generator=None)",
    doc="For each element a number drawn from the Poisson distribution of that rate. The gradient is zero.",
    random=True,
    self=lambda f, grad: f.zeros_like(grad),
)
binomial = operation(
    "binomial(Tensor count, Tensor prob, Generator? generator=None)",
    doc=(
        "For each element a number of successes in `count` trials of probability `prob`, drawn from the "
        "generator.\n\n"
        "Both tensors have the shape of the result. The gradient is zero."
    ),
    has_derivative=False,
    random=True,
    count=no_derivative("binomial"),
    prob=no_derivative("binomial"),
)
publish(standard_gamma, dirichlet, dirichlet_grad, poisson, binomial, method=False)


class _Dirichlet(Function):
    """Each element moves as a beta variate does; the others make room."""

    @staticmethod
    def forward(ctx: Any, concentration: Any) -> Any:
        x = dirichlet(concentration)
        ctx.save_for_backward(x, concentration)
        return x

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Any) -> Any:
        x, concentration = ctx.saved_tensors
        total = concentration.sum(-1, True).expand_as(concentration)
        return dirichlet_grad(x, concentration, total) * (grad - (x * grad).sum(-1, True))


sample_dirichlet = _Dirichlet.apply

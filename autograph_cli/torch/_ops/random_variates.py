"""Random numbers of gamma, Dirichlet, Poisson and binomial distributions, drawn from the stream as PyTorch draws
them."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from .._core.dtypes import cpp_name
from .._core.errors import refused
from .._core.operation import operation
from .._core.registry import publish
from .._kernels import random_variates
from ..autograd.function import Function, once_differentiable
from .arithmetic import no_derivative
from .generators import stream_of


def _each(variate: Any, generator: Any, *arrays: Any) -> Any:
    """One variate after the other, in double precision."""
    stream = stream_of(generator)
    rows = zip(*(np.ravel(a).tolist() for a in arrays), strict=True)
    return np.array([variate(stream, *map(float, row)) for row in rows], np.float64).reshape(np.shape(arrays[0]))


def _gamma_kernel(f: Any, a: Any, generator: Any) -> Any:
    return np.maximum(_each(random_variates.gamma, generator, a).astype(a.dtype), np.finfo(a.dtype).tiny)[()]


def _dirichlet_kernel(f: Any, a: Any, generator: Any) -> Any:
    drawn = _each(random_variates.gamma, generator, a)
    info = np.finfo(a.dtype)
    return np.clip((drawn / drawn.sum(-1, keepdims=True)).astype(a.dtype), info.tiny, 1 - info.epsneg)


def _poisson_kernel(f: Any, rate: Any, generator: Any) -> Any:
    if rate.dtype.kind in "biu":
        raise NotImplementedError(f"\"poisson_cpu\" not implemented for '{cpp_name(rate.dtype)}'")
    return _each(random_variates.poisson, generator, rate).astype(rate.dtype)[()]


def _binomial_kernel(f: Any, count: Any, prob: Any, generator: Any) -> Any:
    for name, a in (("count", count), ("prob", prob)):
        if a.dtype.kind in "biu":
            raise refused(
                ValueError, f"binomial only supports floating-point dtypes for {name}, got: {cpp_name(a.dtype)}"
            )
    variate = functools.partial(random_variates.binomial, narrow=count.dtype.itemsize < 8)
    return _each(variate, generator, *np.broadcast_arrays(count, prob)).astype(count.dtype)[()]


def _twice(f: Any, grad: Any) -> Any:
    raise NotImplementedError("the derivative for '_standard_gamma_grad' is not implemented.")


standard_gamma = operation(
    "_standard_gamma(Tensor self, Generator? generator=None)",
    _gamma_kernel,
    node="StandardGammaBackward0",
    random=True,
    self=lambda f, grad, self, result: grad * f._standard_gamma_grad(self, result),
)
operation("_standard_gamma_grad(Tensor self, Tensor output)", node="StandardGammaGradBackward0", self=_twice)
dirichlet_grad = operation("_dirichlet_grad(Tensor x, Tensor alpha, Tensor total)")
dirichlet = operation("_sample_dirichlet(Tensor self, Generator? generator=None)", _dirichlet_kernel, random=True)
poisson = operation(
    "poisson(Tensor self, Generator? generator=None)",
    _poisson_kernel,
    doc="For each element a number drawn from the Poisson distribution of that rate. The gradient is zero.",
    random=True,
    self=lambda f, grad: f.zeros_like(grad),
)
binomial = operation(
    "binomial(Tensor count, Tensor prob, Generator? generator=None)",
    _binomial_kernel,
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

"""Gamma variates by the method of Marsaglia and Tsang, drawn from the stream as PyTorch draws them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._core.generator import Stream, _normal_pairs, _unit53
from .._core.operation import operation
from .._ops.random import stream_of
from ..autograd.function import Function, once_differentiable

# PyTorch's constants are of single precision, also where it computes in double.
THIRD = float(np.float32(1.0) / np.float32(3.0))
SQUEEZE = float(np.float32(0.0331))


def gamma_variate(stream: Stream, shape: float) -> float:
    """One gamma variate of the given shape and scale 1."""
    scale = 1.0
    if shape < 1.0:
        if shape == 0.0:
            return 0.0
        scale = (1.0 - float(_unit53(stream, 1)[0])) ** (1.0 / shape)
        shape += 1.0
    d = shape - THIRD
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        y = 0.0
        while y <= 0.0:
            x = float(_normal_pairs(stream, 1)[0])
            y = 1.0 + c * x
        v = y * y * y
        u = 1.0 - float(_unit53(stream, 1)[0])
        square = x * x
        if u < 1.0 - SQUEEZE * square * square or math.log(u) < 0.5 * square + d * (1.0 - v + math.log(v)):
            return scale * d * v


def _variates(shapes: Any) -> Any:
    stream = stream_of(None)
    drawn = [gamma_variate(stream, float(a)) for a in np.ravel(shapes).tolist()]
    return np.array(drawn, np.float64).reshape(np.shape(shapes))


def _gamma_kernel(f: Any, a: Any) -> Any:
    return np.maximum(_variates(a).astype(a.dtype), np.finfo(a.dtype).tiny)[()]


def _dirichlet_kernel(f: Any, a: Any) -> Any:
    drawn = _variates(a)
    info = np.finfo(a.dtype)
    return np.clip((drawn / drawn.sum(-1, keepdims=True)).astype(a.dtype), info.tiny, 1 - info.epsneg)


def _twice(f: Any, grad: Any) -> Any:
    raise NotImplementedError("the derivative for '_standard_gamma_grad' is not implemented.")


standard_gamma = operation(
    "_standard_gamma(Tensor self)", _gamma_kernel, node="StandardGammaBackward0",
    self=lambda f, grad, self, result: grad * f._standard_gamma_grad(self, result),
)
standard_gamma_grad = operation(
    "_standard_gamma_grad(Tensor self, Tensor output)", node="StandardGammaGradBackward0", self=_twice
)
dirichlet_grad = operation("_dirichlet_grad(Tensor x, Tensor alpha, Tensor total)")
_dirichlet = operation("_sample_dirichlet(Tensor self)", _dirichlet_kernel)


class _Dirichlet(Function):
    """Each element moves as a beta variate does; the others make room."""

    @staticmethod
    def forward(ctx: Any, concentration: Any) -> Any:
        x = _dirichlet(concentration)
        ctx.save_for_backward(x, concentration)
        return x

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Any) -> Any:
        x, concentration = ctx.saved_tensors
        total = concentration.sum(-1, True).expand_as(concentration)
        return dirichlet_grad(x, concentration, total) * (grad - (x * grad).sum(-1, True))


sample_dirichlet = _Dirichlet.apply

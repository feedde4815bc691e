"""Saved outputs without a gradient that depend on the inputs all the same: mean and scale of a normalization, a norm.

A backward formula may take them for constants, as PyTorch's does. A tangent, which may be differentiated in turn, must
not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from ..tape.tensor import Tensor, may_follow
from .operation import operations as f

if TYPE_CHECKING:
    from .operation import Operation

Named = dict[str, Any]


class Recomputed(NamedTuple):
    """A recipe for outputs: the input that they depend on, their names, and the function of all arguments."""

    input: str
    outputs: tuple[str, ...]
    compute: Callable[[Named], Any]


def _moments(x: Tensor, axes: tuple[int, ...], keep: bool, eps: float) -> tuple[Any, Any]:
    mean = f.mean_dim(x, axes, True)
    apart = x - mean
    variance = f.mean_dim(apart * apart, axes, keep)
    return (mean if keep else f.mean_dim(x, axes, False)), f.rsqrt(f.add_Scalar(variance, eps))


def _layer_norm(given: Named) -> tuple[Any, Any]:
    x = given["input"]
    return _moments(x, tuple(range(x.ndim - len(given["normalized_shape"]), x.ndim)), True, given["eps"])


def _batch_norm(given: Named) -> tuple[Any, Any] | None:
    if not given["training"]:
        return None
    x = given["input"]
    return _moments(x, (0, *range(2, x.ndim)), False, given["eps"])


def _weight_norm(given: Named) -> tuple[Any]:
    v, dim = given["v"], given["dim"]
    axes = tuple(range(1, v.ndim)) if dim == 0 else tuple(range(v.ndim - 1))
    return (f.sqrt(f.sum_dim_IntList(v * v, axes, True)),)


layer_norm = Recomputed("input", ("result1", "result2"), _layer_norm)
batch_norm = Recomputed("input", ("result1", "result2"), _batch_norm)
weight_norm = Recomputed("v", ("result1",), _weight_norm)


def outputs_of(op: Operation, given: Named) -> Named:
    """Return outputs of `op` as functions of its arguments, by name; nothing if no derivative of them can be asked
    for."""
    rule = op.recomputed
    if rule is None or not may_follow(given[rule.input]):
        return {}
    found = rule.compute(given)
    return {} if found is None else dict(zip(rule.outputs, found, strict=True))

"""Gradients kept within bounds, in place."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable
from typing import Any

from ... import _namespace as torch
from ..._core.base.user_warnings import warn
from ..._core.tape.tensor import Tensor

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]


def _outside_the_graph(run: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(run)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        with torch.no_grad():
            return run(*args, **kwargs)

    return wrapped


def _listed(tensors: Any) -> list[Any]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def _gradients(parameters: Any) -> list[Any]:
    return [p.grad for p in _listed(parameters) if p.grad is not None]


@_outside_the_graph
def get_total_norm(
    tensors: Any, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Any:
    """The norm of all tensors as if they were one vector; RuntimeError, if asked for, when it is inf or nan."""
    given, norm_type = _listed(tensors), float(norm_type)
    if not given:
        return torch.tensor(0.0)
    norms = torch.stack([torch.norm(t, norm_type) for t in given])
    total = torch.norm(norms, norm_type)
    if error_if_nonfinite and not math.isfinite(total.item()):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be "
            "clipped. To disable this error and scale the gradients by the non-finite norm anyway, set "
            "`error_if_nonfinite=False`"
        )
    return total


@_outside_the_graph
def clip_grads_with_norm_(parameters: Any, max_norm: float, total_norm: Any, foreach: bool | None = None) -> None:
    """Scale gradients whose total norm is known by max_norm / total_norm, if that is less than 1."""
    factor = torch.clamp(float(max_norm) / (total_norm + 1e-6), max=1.0)
    for grad in _gradients(parameters):
        grad.mul_(factor)


@_outside_the_graph
def clip_grad_norm_(
    parameters: Any,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Any:
    """Scale the gradients of all parameters so that their total norm is at most `max_norm`; return what it was.

    >>> from autograph_cli import torch
    >>> w = torch.nn.Parameter(torch.tensor([3.0, 4.0]))
    >>> (w * w).sum().backward()
    >>> clip_grad_norm_(w, 1.0)
    tensor(10.)
    """
    if not isinstance(parameters, Tensor):
        is_generator = not hasattr(parameters, "__len__") and isinstance(parameters, Iterable)
        parameters = list(parameters)
        if is_generator and not parameters:
            warn("`parameters` is an empty generator, no gradient clipping will occur.")
    total = get_total_norm(_gradients(parameters), norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(parameters, max_norm, total, foreach)
    return total


def clip_grad_norm(
    parameters: Any,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Any:
    """The deprecated name of `clip_grad_norm_`."""
    warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.", FutureWarning
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


@_outside_the_graph
def clip_grad_value_(parameters: Any, clip_value: float, foreach: bool | None = None) -> None:
    """Bring every element of the gradients within [-clip_value, clip_value]."""
    for grad in _gradients(parameters):
        grad.clamp_(min=-float(clip_value), max=float(clip_value))

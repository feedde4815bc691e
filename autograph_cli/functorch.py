"""`functorch`, the former name of `torch.func`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import torch
from .torch import vmap
from .torch.func import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp

__all__ = [
    "combine_state_for_ensemble",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "make_functional",
    "make_functional_with_buffers",
    "vjp",
    "vmap",
]
__version__ = torch.__version__


def make_functional_with_buffers(
    model: Any, disable_autograd_tracking: bool = False
) -> tuple[Callable[..., Any], tuple[Any, ...], tuple[Any, ...]]:
    """A function `(params, buffers, *inputs)` that does what the module does, its parameters, and its buffers."""
    parameters, buffers = dict(model.named_parameters()), dict(model.named_buffers())

    def run(params: Any, held: Any, *args: Any, **kwargs: Any) -> Any:
        state = {**dict(zip(parameters, params, strict=True)), **dict(zip(buffers, held, strict=True))}
        return torch.func.functional_call(model, state, args, kwargs)

    taken = tuple(
        p.detach().requires_grad_(p.requires_grad and not disable_autograd_tracking) for p in parameters.values()
    )
    return run, taken, tuple(buffers.values())


def make_functional(model: Any, disable_autograd_tracking: bool = False) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """A function `(params, *inputs)` that does what the module does, and its parameters.

    >>> layer = torch.nn.Linear(2, 1)
    >>> run, params = make_functional(layer)
    >>> torch.equal(run(params, torch.ones(1, 2)), layer(torch.ones(1, 2)))
    True
    """
    run, params, buffers = make_functional_with_buffers(model, disable_autograd_tracking)
    if buffers:
        raise RuntimeError(
            "make_functional(model): `model` has buffers. Please use make_functional_with_buffers(model) instead."
        )
    return lambda params, *args, **kwargs: run(params, (), *args, **kwargs), params


def combine_state_for_ensemble(models: Any) -> tuple[Callable[..., Any], tuple[Any, ...], tuple[Any, ...]]:
    """One function for several modules of a class, and their parameters and buffers, stacked."""
    if not models:
        raise RuntimeError("combine_state_for_ensemble: Expected at least one model, got 0.")
    if len({type(model) for model in models}) > 1:
        raise RuntimeError("combine_state_for_ensemble: Expected all models to be of the same class.")
    runs, params, buffers = zip(*map(make_functional_with_buffers, models), strict=True)
    stacked = tuple(
        torch.stack(each).detach().requires_grad_(each[0].requires_grad) for each in zip(*params, strict=True)
    )
    return runs[0], stacked, tuple(map(torch.stack, zip(*buffers, strict=True)))

"""Modules as functions: stacked parameters of several, batch norms without running statistics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._core.operations.operation import operations
from .._core.tape.tensor import Tensor
from ..nn.modules.batchnorm import _BatchNorm


def stack_module_state(models: Sequence[Any]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The parameters and the buffers of models of one class, each stacked along a new first dimension, by name.

    >>> from autograph_cli import torch
    >>> parameters, buffers = torch.func.stack_module_state([torch.nn.Linear(2, 3) for _ in range(5)])
    >>> parameters["weight"].shape
    torch.Size([5, 3, 2])
    """
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({m.training for m in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if len({type(m) for m in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    return _stacked([dict(m.named_parameters()) for m in models]), _stacked([dict(m.named_buffers()) for m in models])


def _stacked(states: list[dict[str, Any]]) -> dict[str, Tensor]:
    result = {}
    for name, first in states[0].items():
        rows = [state[name] for state in states]
        wants = [x.requires_grad for x in rows]
        if len(set(wants)) > 1:
            raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
        leaf = wants[0] and first.is_leaf
        stacked = operations.stack([x.detach() for x in rows] if leaf else rows, 0)
        result[name] = stacked.requires_grad_() if leaf else stacked
    return result


def replace_all_batch_norm_modules_(root: Any) -> Any:
    """Take the running statistics from every batch norm in a module, which `vmap` could not change in place."""
    for module in root.modules():
        if isinstance(module, _BatchNorm) and module.track_running_stats:
            module.track_running_stats = False
            module.running_mean = module.running_var = module.num_batches_tracked = None
    return root

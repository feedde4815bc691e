"""Two tensors that are swapped."""

from __future__ import annotations

import weakref
from typing import Any

from .._core.base.state import process_state
from .._core.tape.node import AccumulateGrad, View
from .._core.tape.tensor import Tensor

_SLOTS = ("_ag_raw", "_ag_edge", "_ag_counter", "_ag_meta")


def swap_tensors(t1: Tensor, t2: Tensor) -> None:
    """Let two tensors exchange all they are: memory, history, gradient, attributes, class.

    RuntimeError where something holds one of them weakly. What was recorded of a leaf before can no longer
    run backward.

    >>> from autograph_cli import torch
    >>> a, b = torch.zeros(2), torch.ones(3)
    >>> torch.utils.swap_tensors(a, b)
    >>> a
    tensor([1., 1., 1.])
    """
    for name, t in (("t1", t1), ("t2", t2)):
        if any(not _is_ours(ref, t) for ref in weakref.getweakrefs(t)):
            raise RuntimeError(f"Cannot swap {name} because it has weakref associated with it")
    for t in (t1, t2):
        _poison(t)
    for slot in _SLOTS:
        mine, theirs = getattr(t1, slot), getattr(t2, slot)
        setattr(t1, slot, theirs)
        setattr(t2, slot, mine)
    t1.__dict__, t2.__dict__ = t2.__dict__, t1.__dict__
    t1.__class__, t2.__class__ = t2.__class__, t1.__class__


def _is_ours(ref: Any, t: Tensor) -> bool:
    """Return whether a weak reference may be that of a recorder that follows the engine, or of a node that keeps the
    gradient of `t`."""
    retained = t._ag_meta is not None and t._ag_meta.retains
    followed = process_state.observer is not None or process_state.passed is not None
    return type(ref) is weakref.ref and ref.__callback__ is None and (followed or retained)


def _poison(leaf: Tensor) -> None:
    """The living AccumulateGrad of a leaf raises from now on; the leaf will have another one."""
    meta = leaf._ag_meta
    if meta is None:
        return
    node: AccumulateGrad | None = None if meta.accumulator is None else meta.accumulator()
    if node is None or leaf._ag_edge.__class__ is View:
        return
    node.register_prehook(_refuse)
    meta.accumulator = None


def _refuse(_: Any) -> None:
    raise RuntimeError(
        "Trying to execute AccumulateGrad node that was poisoned by swap_tensors this can happen when you try to run "
        "backward on a tensor that was swapped. For a module m with "
        "`torch.__future__.set_swap_module_params_on_conversion(True)` you should not change the device or dtype of "
        "the module (e.g. `m.cpu()` or `m.half()`) between running forward and backward. To resolve this, please only "
        "change the device/dtype before running forward (or after both forward and backward)."
    )

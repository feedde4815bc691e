"""Forward mode by hand: dual tensors within a level."""

from __future__ import annotations

from typing import Any, NamedTuple

from .._core.base.state import thread_state
from .._core.tape.tensor import Tensor
from .._core.transforms.forward import apart, joined, paired
from .._core.transforms.interpreter_stack import DualLevel, start, stop
from .._core.transforms.reverse import pair, split
from .grad_mode import ContextDecorator

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]


class UnpackedDualTensor(NamedTuple):
    """The result of `unpack_dual`: `primal`, and `tangent` (None if there is none)."""

    primal: Tensor
    tangent: Tensor | None


def _level(number: int | None, name: str) -> DualLevel | None:
    """The level that is entered; there is one at most, of number 0."""
    if number is not None and number > 0:
        raise RuntimeError(f"Invalid level given to {name}")
    return next((level for level in thread_state.levels if isinstance(level, DualLevel) and level.by_hand), None)


def enter_dual_level() -> int:
    """Begin a level, in which `make_dual` makes dual tensors; its number is 0. RuntimeError within another."""
    if any(isinstance(level, DualLevel) for level in thread_state.levels):
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    start(DualLevel(by_hand=True))
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """End the level: its dual tensors are plain ones from now on."""
    entered = _level(None, "")
    if entered is None and level is None:
        raise RuntimeError("Dual level must be a positive number.")
    if entered is None or level not in (None, 0) or thread_state.levels[-1] is not entered:
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This is not supported."
        )
    stop(entered)


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """A view of `tensor` that carries `tangent`, of the same shape. RuntimeError outside `dual_level`.

    >>> from autograph_cli.torch.autograd import forward_ad
    >>> from autograph_cli import torch
    >>> with forward_ad.dual_level():
    ...     forward_ad.make_dual(torch.tensor(3.0), torch.tensor(1.0)) ** 2
    tensor(9., tangent=6.0)
    """
    entered = _level(level, "_make_dual")
    if entered is None:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
        )
    if split(entered, tensor)[1] is not None:
        raise RuntimeError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the same level 0 is not "
            "supported."
        )
    primal, tangent = paired(tensor, tangent)
    return pair(entered, primal.view_as(primal), tangent)


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The primal and the tangent of a tensor as a named tuple; the tangent of what has none is None."""
    entered = _level(level, "_fw_primal")
    if not isinstance(tensor, Tensor):
        raise TypeError(f"_unpack_dual(): argument 'dual' (position 1) must be Tensor, not {type(tensor).__name__}")
    if entered is None:
        return UnpackedDualTensor(tensor, None)
    primal, tangent = split(entered, *joined(entered, [tensor]))
    return UnpackedDualTensor(primal if tangent is None else apart(primal), tangent)


class dual_level(ContextDecorator):
    """A block in which dual tensors can be made.

    >>> from autograph_cli import torch
    >>> from autograph_cli.torch.autograd import forward_ad
    >>> with forward_ad.dual_level():
    ...     x = forward_ad.make_dual(torch.tensor(0.0), torch.tensor(2.0))
    ...     forward_ad.unpack_dual(x.sin()).tangent
    tensor(2.)
    """

    def __enter__(self) -> int:
        number = enter_dual_level()
        self._ag_level = thread_state.levels[-1]
        return number

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        if thread_state.levels and thread_state.levels[-1] is self._ag_level:
            stop(self._ag_level)
        else:
            exit_dual_level()


class _set_fwd_grad_enabled(ContextDecorator):
    """Switch the computation of tangents, as `set_grad_enabled` does for backward mode."""

    def __init__(self, mode: bool) -> None:
        self.mode = mode
        self.prev, thread_state.forward = thread_state.forward, mode

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        thread_state.forward = self.prev


def _is_fwd_grad_enabled() -> bool:
    return thread_state.forward

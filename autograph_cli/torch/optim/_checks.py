"""The options of an optimizer, and their checks with PyTorch's messages."""

from __future__ import annotations

from typing import Any

from .._core.tape.tensor import Tensor

_LABELS = {"lr": "learning rate", "eps": "epsilon value"}


def check_lr(lr: Any) -> None:
    """ValueError for a tensor of several elements and for a negative rate."""
    if isinstance(lr, Tensor) and lr._ag_raw.size != 1:
        raise ValueError("Tensor lr must be 1-element")
    check_nonnegative(lr=lr)


def check_nonnegative(**values: Any) -> None:
    """ValueError for the first value that is below zero or nan."""
    for name, value in values.items():
        if not value >= 0.0:
            raise ValueError(f"Invalid {_LABELS.get(name, f'{name} value')}: {value}")


def check_betas(betas: Any) -> None:
    """ValueError for a beta outside [0, 1)."""
    for index in (0, 1):
        if not 0.0 <= betas[index] < 1.0:
            raise ValueError(f"Invalid beta parameter at index {index}: {betas[index]}")


def check_fused(fused: Any, foreach: Any, differentiable: bool) -> None:
    """RuntimeError for ways of computing that exclude each other; all of them compute the same here."""
    if fused and differentiable:
        raise RuntimeError("`fused` does not support `differentiable`")
    if fused and foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


def refuse_tensor(name: str, value: Any, foreach: Any, capturable: bool) -> None:
    """ValueError for a tensor where `foreach` needs a number, and for one of several elements."""
    if isinstance(value, Tensor):
        if foreach and not capturable:
            raise ValueError(f"{name} as a Tensor is not supported for capturable=False and foreach=True")
        if value._ag_raw.size != 1:
            raise ValueError(f"Tensor {name} must be 1-element")


def options(arguments: dict[str, Any], names: str) -> dict[str, Any]:
    """Return the arguments of these names out of the `locals()` of a constructor, in this order."""
    return {name: arguments[name] for name in names.split()}

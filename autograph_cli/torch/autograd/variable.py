"""`Variable`, PyTorch's old name for a tensor."""

from __future__ import annotations

from typing import Any

from .._core.base.class_names import type_name
from .._core.base.dtype_checks import check_differentiable
from .._core.base.user_warnings import warn
from .._core.passes.backward_pass import queue_callback
from .._core.tape.tensor import Tensor


class _Engine:
    """`Variable._execution_engine`, of which scripts use one method."""

    queue_callback = staticmethod(queue_callback)


class VariableMeta(type):
    """Makes every tensor an instance of `Variable`."""

    def __instancecheck__(cls, other: Any) -> bool:
        return isinstance(other, Tensor)


class Variable(metaclass=VariableMeta):
    """A call gives a tensor that shares the memory of `data`; every tensor is an instance.

    >>> from autograph_cli import torch
    >>> torch.autograd.Variable(torch.ones(2), requires_grad=True)
    tensor([1., 1.], requires_grad=True)
    """

    _execution_engine = _Engine()

    def __new__(cls, data: Any = None, requires_grad: bool | None = None, volatile: bool | None = None) -> Any:
        if volatile:
            warn("volatile was removed and now has no effect. Use `with torch.no_grad():` instead.")
        if data is None:
            return Tensor()
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type_name(data)}")
        alias = data.detach()
        if requires_grad:
            check_differentiable(data)
            alias.requires_grad = True
        return alias

"""The text of tensors, plain and inside transforms, and its options."""

from __future__ import annotations

import textwrap
from typing import Any

from ..._arrays.cuda import moved
from ..._arrays.sparse import Coo, Sparse
from ..._core.base import dtypes
from ..._core.base.device import CPU
from ..._core.base.state import process_state
from ..._core.operations.registry import composite, methods
from ..._core.tape import formatting
from ..._core.tape.tensor import Tensor, Wrapped
from ..._core.transforms.interpreter_stack import DualLevel, Level
from ..._core.transforms.reverse import outer_history
from ..._core.transforms.transforms import Batched, Dual, core

_printing = {"options": formatting.PROFILES["default"]}


def options() -> formatting.PrintOptions:
    """The options that hold now."""
    return _printing["options"]


def use_options(options: formatting.PrintOptions) -> None:
    """Let these options hold from now on."""
    _printing["options"] = options


@composite(method=False)
def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Say how tensors print: digits, when to leave out elements, how many to keep, columns, scientific notation."""
    _printing["options"] = formatting.print_options(
        _printing["options"],
        precision=precision,
        threshold=threshold,
        edgeitems=edgeitems,
        linewidth=linewidth,
        profile=profile,
        sci_mode=sci_mode,
    )


def text(tensor: Tensor, prefix: str | None = None) -> str:
    """`repr` of a tensor; `prefix` stands before its elements (the class by default). Inside a transform, with its
    wrappers."""
    return _wrapped(tensor, getattr(tensor, "_ag_born", None), prefix)


def _wrapped(x: Any, level: Level | None, prefix: str | None, outside: bool = False) -> str:
    """`x` as `level` and the transforms around it show it; `outside`: as the outermost of them was given it."""
    while level is not None and not (level.alive and level.follows_all):
        level = level.outer
    own = x._ag_level if isinstance(x, Wrapped) else None
    if own is not None and not own.alive:
        return _wrapped(x._ag_inner, level, prefix, outside)
    if own is not None and (level is None or own.depth >= level.depth):
        inner: Tensor = x._ag_inner
        if isinstance(own, DualLevel) and own.by_hand and not isinstance(inner, Wrapped):
            return _plain(inner, prefix, outside, tangent=f"{x._ag_tangent}")
        bdim = f", bdim={x._ag_bdim}" if isinstance(x, Batched) else ""
        name = "BatchedTensor" if isinstance(x, Batched) else "GradTrackingTensor"
        around = getattr(inner, "_ag_born", None)
        while around is not None and around.depth >= own.depth:
            around = around.outer
        return _around(name, f"lvl={own.depth}{bdim}", _wrapped(inner, around, prefix, outside))
    if level is not None:
        return _around("GradTrackingTensor", f"lvl={level.depth}", _wrapped(x, level.outer, prefix, True))
    return _plain(x, prefix, outside)


def _around(name: str, what: str, value: str) -> str:
    return f"{name}({what}, value=\n{textwrap.indent(value, '    ')}\n)"


def _plain(tensor: Tensor, prefix: str | None, outside: bool, tangent: str | None = None) -> str:
    if prefix is None:
        prefix = "tensor(" if type(tensor) is Tensor else f"{type(tensor).__name__}("
    requires_grad, name = outer_history(tensor) if outside else _history(tensor)
    default_dtype = dtypes.FROM_NUMPY[process_state.default_dtype].name
    if isinstance(tensor._ag_raw, Sparse):
        return _sparse(tensor._ag_raw, prefix, default_dtype, requires_grad, name)
    if tensor.is_meta:
        return formatting.meta_str(
            tensor._ag_raw.shape,
            tensor.dtype.name,
            default_dtype=default_dtype,
            requires_grad=requires_grad,
            grad_fn_name=name,
            options=_printing["options"],
            prefix=prefix,
        )
    return formatting.tensor_str(
        moved(tensor._ag_raw, CPU),
        tensor.dtype.name,
        default_dtype=default_dtype,
        device=str(tensor.device),
        requires_grad=requires_grad,
        grad_fn_name=name,
        tangent=tangent,
        options=_printing["options"],
        prefix=prefix,
    )


def _history(tensor: Tensor) -> tuple[bool, str | None]:
    """Return whether a gradient is asked for, and the name of the node that made the tensor."""
    try:
        node = tensor.grad_fn
    except RuntimeError:
        # A view whose history may not be worked out can be printed all the same.
        return tensor.requires_grad, "Invalid"
    return tensor.requires_grad, None if node is None else type(node).__name__


def _repr(self: Tensor, *, tensor_contents: Any = None) -> str:
    return text(self)


def _format(self: Tensor, spec: str) -> str:
    if isinstance(self, Batched) and not self.ndim:
        return format(self.item(), spec)
    whole = core(self) if isinstance(self, Dual) else self
    if not whole._ag_raw.ndim and type(whole) is Tensor and not whole.is_meta:
        return formatting.format_scalar(moved(whole._ag_raw, CPU), spec)
    return object.__format__(self, spec)


methods["__repr__"], methods["__format__"] = _repr, _format
methods["__str__"] = lambda self: repr(self)


def _sparse(raw: Any, prefix: str, default_dtype: str, requires_grad: bool, grad_fn_name: str | None) -> str:
    """A sparse tensor: its indices, its values, and the rest."""
    by_position = isinstance(raw, Coo)
    parts = {"indices": raw.indices} if by_position else {"crow_indices": raw.crow, "col_indices": raw.columns}
    lines = []
    for name, array in {**parts, "values": raw.values}.items():
        dtype = dtypes.FROM_NUMPY[array.dtype].name
        opening = f"{' ' * len(prefix)}{name}=tensor("
        shown = formatting.tensor_str(array, dtype, default_dtype=dtype, options=_printing["options"], prefix=opening)
        if not array.size:
            shown = f"{opening}[], size={tuple(array.shape)})"
        lines.append(shown[len(prefix) :])
    return formatting.sparse_str(
        ",\n".join([prefix + lines[0], *(" " * len(prefix) + line for line in lines[1:])]),
        raw.shape,
        len(raw.values),
        dtypes.FROM_NUMPY[raw.dtype].name,
        "sparse_coo" if by_position else "sparse_csr",
        default_dtype=default_dtype,
        requires_grad=requires_grad,
        grad_fn_name=grad_fn_name,
        options=_printing["options"],
        prefix=prefix,
        newline=by_position,
    )

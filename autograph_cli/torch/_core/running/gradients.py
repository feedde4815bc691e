"""Gradients that do not fit their tensor yet, and the `.grad` of leaves."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from sys import getrefcount
from typing import Any

import numpy as np

from ..._arrays.backends import DENSE, backend_of, device_of
from ..._arrays.dispatched import Dispatched
from ..._arrays.lazy import Lazy, resolved
from ..base import dtypes
from ..base.op_namespace import operations
from ..tape.node import Edge, Node, device_of_like, shape_dtype
from ..tape.tensor import Tensor, make
from .device_dispatch import fit_device, kernels
from .views import is_dense

adding = threading.Lock()
"""Backward passes of several threads may share leaves."""


def _alone() -> int:
    """The references to a gradient that only `Pass._walk` holds, where it asks for them: they depend on Python's
    version."""
    grads, pending = (np.empty(1),), dict[int, Any]()
    for edge, g in zip((0,), grads, strict=False):
        pending[edge] = g
        whole = pending.pop(edge)
        if whole is g:
            return getrefcount(g)
    raise AssertionError


ALONE = _alone()


class Misfit(RuntimeError):
    """The shape of a gradient, and that of the tensor to which it cannot belong."""


def output_meta_at(edge: Edge) -> Any:
    """Return what a gradient that goes along `edge` must look like."""
    return edge[0]._ag_output_meta[edge[1]] if edge[0]._ag_multiple else edge[0]._ag_output_meta


def fit(g: Any, like: Any) -> Any:
    """A raw gradient with the shape and dtype of the tensor that it belongs to: broadcasting undone, dtype cast."""
    shape, kind = shape_dtype(like)
    if g.__class__ is Dispatched:
        return fit_recorded(make(g), like)._ag_raw
    g = fit_device(g, like)
    if g.shape != shape:
        if not _broadcasts(shape, g.shape):
            raise Misfit(g.shape, shape)
        g = sum_to(g, shape)
    if g.dtype != kind:
        if dtypes.CATEGORY[g.dtype] == dtypes.COMPLEX and dtypes.CATEGORY[kind] != dtypes.COMPLEX:
            g = g.real
        g = g.astype(kind)
    return g


def sum_to(g: Any, shape: tuple[int, ...]) -> Any:
    """Sum a raw array over the dimensions that broadcasting added or stretched."""
    if not shape:
        return kernels(g).sum(g)
    lead = g.ndim - len(shape)
    axes = (*range(lead), *(i + lead for i, n in enumerate(shape) if n == 1 and g.shape[i + lead] != 1))
    return kernels(g).sum(g, axes, False).reshape(shape)


def fit_recorded(g: Tensor, like: Any) -> Tensor:
    """`fit` by recorded operations; a real tensor's part of a complex gradient comes first, as in PyTorch's
    formulas."""
    shape, kind = shape_dtype(like)
    if device_of(g._ag_raw) != device_of_like(like):
        g = operations._to_copy_device(g, g._ag_raw.dtype, device_of_like(like))
    if dtypes.CATEGORY[g._ag_raw.dtype] == dtypes.COMPLEX and dtypes.CATEGORY[kind] != dtypes.COMPLEX:
        g = operations.real(g)
    if g._ag_raw.shape != shape:
        if not _broadcasts(shape, g._ag_raw.shape):
            raise Misfit(g._ag_raw.shape, shape)
        g = operations.sum_to_size(g, shape)
    return operations._to_copy(g, kind) if g._ag_raw.dtype != kind else g


def _broadcasts(small: tuple[int, ...], big: tuple[int, ...]) -> bool:
    if len(small) > len(big):
        return False
    return all(n in (1, m) for n, m in zip(reversed(small), reversed(big), strict=False))


def invalid(node: Node, grads: Iterable[Any], misfit: Misfit) -> RuntimeError:
    """PyTorch's sentence for a gradient of the wrong shape, with the number of its edge."""
    got, wanted = misfit.args
    shapes = [getattr(g._ag_raw if isinstance(g, Tensor) else g, "shape", None) for g in grads]
    pairs = enumerate(zip(node._ag_edges, shapes, strict=False))
    index = next(
        i
        for i, (e, shape) in pairs
        if e is not None and shape == got and not _broadcasts(shape_dtype(output_meta_at(e))[0], got)
    )
    return RuntimeError(
        f"Function {node._ag_name()} returned an invalid gradient at index {index} - got {list(got)} but "
        f"expected shape compatible with {list(wanted)}"
    )


def accumulate(variable: Tensor, g: Any, held: bool = False, own: bool = False) -> None:
    """Add a raw gradient to `.grad`: in place where there is one, as a copy where there is none and others may share
    its memory (`own`: nobody does).

    PyTorch keeps the gradient itself where nobody else holds it and its strides are right; else its copy counts as a
    change.
    """
    with adding:
        meta = variable._ag_need_meta()
        have = meta.grad
        if g.__class__ is Dispatched or (have is not None and have._ag_raw.__class__ is Dispatched):
            meta.grad = make(g).detach() if have is None else have.add_(make(g))
            return
        if have is None:
            if g.__class__ is Lazy:
                found = in_layout(g.memory, variable._ag_raw)
                moved = held or _moved(g.memory, found)
                meta.grad = make(g.resolved() if moved else Lazy(found, g.bits))
            elif g.__class__ not in DENSE:
                meta.grad, moved = make(g if isinstance(g, np.generic) else g.copy()), held
            else:
                found = g if own and _kept(g, variable._ag_raw) else in_layout(g, variable._ag_raw)
                meta.grad, moved = make(found), held or _moved(g, found)
            if moved and (isinstance(g, np.generic) or is_dense(variable._ag_raw)):
                meta.grad._ag_counter = [1]
            return
        g = resolved(g)
        if isinstance(have._ag_raw, np.generic):
            have._ag_raw = have._ag_raw + g
        else:
            have._ag_raw += g
        if have._ag_counter is not None:
            have._ag_counter[0] += 1
        else:
            have._ag_counter = [1]


operations.accumulate_grad = accumulate


def in_layout(g: Any, like: Any) -> Any:
    """A copy of a raw gradient, laid out like the leaf it belongs to where that has no gaps, else row by row."""
    if g.__class__ not in DENSE or like.flags.c_contiguous or not is_dense(like):
        return g.copy()
    result = kernels(g).xp.empty_like(like, g.dtype)
    result[...] = g
    return result


def _kept(g: Any, like: Any) -> bool:
    """Return whether a gradient that nobody else holds is laid out as `in_layout` would."""
    if g.__class__ not in DENSE or g.base is not None or like.__class__ is not g.__class__:
        return False
    if g.__class__ is not np.ndarray and backend_of(g).owner(g) is not g:
        return False
    if like.flags.c_contiguous or not is_dense(like):
        return bool(g.flags.c_contiguous)
    return bool(g.strides == like.strides)


def _moved(a: Any, b: Any) -> bool:
    """Return whether two arrays of one shape are laid out differently."""
    return a.strides != b.strides and any(
        s != t and n > 1 for n, s, t in zip(a.shape, a.strides, b.strides, strict=True)
    )


def accumulate_recorded(variable: Tensor, g: Tensor) -> None:
    """Add a recorded gradient to `.grad`, out of place; the first one is copied, as others may hold it."""
    with adding:
        meta = variable._ag_need_meta()
        had = meta.grad
        if had is not None:
            meta.grad = had + g
        elif g.requires_grad:
            meta.grad = operations.copy(make(g._ag_raw), g)
            if isinstance(g._ag_raw, np.ndarray):
                meta.grad._ag_raw = in_layout(g._ag_raw, variable._ag_raw)
        else:
            meta.grad = make(g._ag_raw if isinstance(g._ag_raw, np.generic) else in_layout(g._ag_raw, variable._ag_raw))
        if had is None and (isinstance(g._ag_raw, np.generic) or is_dense(variable._ag_raw)):
            meta.grad._ag_counter = [1]


def retain(tensor: Tensor, g: Tensor) -> None:
    """Add a gradient to the `.grad` that a tensor inside the graph retains."""
    have = tensor._ag_need_meta().grad
    tensor._ag_need_meta().grad = operations.clone(g) if have is None else have + g

"""Dtypes that are refused: those that do not go together, and those that an operation does not compute in."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from . import dims, dtypes
from .dtypes import c_name, cpp_name

if TYPE_CHECKING:
    from ..operations.operation import Operation


def same_scalar(first: Any, *others: Any) -> None:
    """RuntimeError unless all tensors (None is left out) have the dtype of the first."""
    kind = first._ag_raw.dtype
    for other in others:
        if other is not None and other._ag_raw.dtype is not kind and other._ag_raw.dtype != kind:
            raise RuntimeError(f"expected scalar type {cpp_name(kind)} but found {cpp_name(other._ag_raw.dtype)}")


def same_for_baddbmm(input: Any, left: Any, right: Any) -> None:
    """RuntimeError unless what is added to products of matrices and both factors have one dtype."""
    if input._ag_raw.dtype != left._ag_raw.dtype:
        kinds = [c_name(x._ag_raw.dtype) for x in (input, left, right)]
        raise RuntimeError(
            f"Input dtypes must be the same, got: input {kinds[0]}, batch1: {kinds[1]}, batch2: {kinds[2]}"
        )
    same_scalar(left, right)


def same_for_product(left: Any, right: Any) -> None:
    """RuntimeError unless both factors have one dtype."""
    if left._ag_raw.dtype != right._ag_raw.dtype:
        names = f"{c_name(left._ag_raw.dtype)} != {c_name(right._ag_raw.dtype)}"
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {names}")


def same_for_addmm(added: Any, left: Any, right: Any) -> None:
    """RuntimeError unless both factors and what is added to their product have one dtype."""
    kind = right._ag_raw.dtype
    if added._ag_raw.dtype is kind is left._ag_raw.dtype:
        return
    for name, tensor in (("self", added), ("mat1", left)):
        if tensor._ag_raw.dtype != kind:
            names = f"{cpp_name(tensor._ag_raw.dtype)} and {cpp_name(kind)}"
            raise RuntimeError(f"{name} and mat2 must have the same dtype, but got {names}")


def same_for_addmv(added: Any, matrix: Any, vector: Any) -> None:
    """RuntimeError unless matrix, vector and what is added to their product have one dtype."""
    kinds = [tensor._ag_raw.dtype for tensor in (added, matrix, vector)]
    if not kinds[0] == kinds[1] == kinds[2]:
        first, second, third = map(cpp_name, kinds)
        raise RuntimeError(f"addmv input tensors must have the same dtype, but got {first}, {second}, and {third}")


def check_cast(source: Any, goal: Any) -> None:
    """RuntimeError where a result of one dtype may not be written into a tensor of the other."""
    if dtypes.CATEGORY[source] > dtypes.CATEGORY[goal]:
        raise RuntimeError(f"result type {cpp_name(source)} can't be cast to the desired output type {cpp_name(goal)}")


def check_written(target: Any, shape: tuple[int, ...], kind: Any) -> None:
    """RuntimeError where what is computed of a tensor and of one of `shape` and dtype `kind` cannot replace it."""
    have = target._ag_raw
    found = dims.broadcast(have.shape, shape)
    if found != have.shape:
        raise RuntimeError(f"output with shape {list(have.shape)} doesn't match the broadcast shape {list(found)}")
    check_cast(dtypes.promote(have.dtype, kind), have.dtype)


def parameters_fit(input: Any, *parameters: Any) -> None:
    """RuntimeError unless parameters (None is left out) have the dtype of a layer's input, or float32 beside 16
    bits."""
    kind = input._ag_raw.dtype
    for p in parameters:
        if p is not None and p._ag_raw.dtype is not kind:
            break
    else:
        return
    given = [p for p in parameters if p is not None]
    if given[0]._ag_raw.dtype != kind:
        if any(p._ag_raw.dtype.name != "float32" for p in given):
            raise RuntimeError("mixed dtype (CPU): expect parameter to have scalar type of Float")
        if kind.name not in ("float16", "bfloat16"):
            raise RuntimeError("mixed dtype (CPU): all inputs must share same datatype.")
    same_scalar(*given)


def check_differentiable(tensor: Any) -> None:
    """RuntimeError for a tensor of integers or booleans, which has no gradient."""
    if dtypes.CATEGORY[tensor._ag_raw.dtype] < dtypes.FLOATING:
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")


def no_integers(kernel: str, tensor: Any) -> None:
    """NotImplementedError, naming PyTorch's kernel, for a tensor of integers or booleans."""
    kind = tensor._ag_raw.dtype
    if dtypes.CATEGORY[kind] < dtypes.FLOATING:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{cpp_name(kind)}'")


_CHARACTERS = {"b": "?", "i": "bhilq", "u": "BHILQ", "c": "FDG", "e": "e", "E": "E"}
"""NumPy's characters of dtypes, by the letters that `refuses` of an operation has for them."""


def refusing(refuses: Mapping[str, Any], kernel: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel that refuses dtypes in PyTorch's words, though it could compute in them (see `Traits.refuses`)."""
    said = {c: what for letters, what in refuses.items() for letter in letters for c in _CHARACTERS[letter]}

    @functools.wraps(kernel)
    def run(first: Any, *rest: Any) -> Any:
        what = said.get(first.dtype.char)
        if what is not None and (error := _refusal(what, first, rest)) is not None:
            raise error
        return kernel(first, *rest)

    return run


def check_float8(op: Operation, raws: Iterable[Any]) -> None:
    """NotImplementedError where an operation is given numbers of 8 bits and does not compute in them."""
    if op.view or op.float8 is True:
        return
    for raw in raws:
        if raw.dtype in dtypes.FLOAT8 and not (op.float8 and raw.dtype.name != "float8_e8m0fnu"):
            raise NotImplementedError(f"\"{op.name.strip('_')}_cpu\" not implemented for '{cpp_name(raw.dtype)}'")


def _refusal(what: Any, raw: Any, rest: tuple[Any, ...]) -> Exception | None:
    if isinstance(what, Exception):
        return type(what)(str(what).replace("{}", cpp_name(raw.dtype)))
    name = what(raw, *rest) if callable(what) else what
    if name is None:
        return None
    return NotImplementedError(f"\"{name}\" not implemented for '{cpp_name(raw.dtype)}'")


def refuse(kernel: str, raw: Any, kinds: str) -> None:
    """Raise PyTorch's error where a kernel does not know dtypes of these NumPy kinds."""
    if raw.dtype.kind in kinds:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{dtypes.cpp_name(raw.dtype)}'")

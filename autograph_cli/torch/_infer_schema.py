"""The schema of a Python function, from its annotations: what `torch.library.custom_op` declares an operator by."""

from __future__ import annotations

import collections.abc
import inspect
import types
import typing
from collections.abc import Callable, Iterable
from typing import Any

from ._core.base.device import device
from ._core.base.dtypes import dtype
from ._core.tape.tensor import Tensor

_SINGLE = {
    Tensor: "Tensor", int: "SymInt", float: "float", bool: "bool", str: "str", dtype: "ScalarType", device: "Device",
}  # fmt: skip
_SCALAR = frozenset((int, float, bool))
_IN_LISTS = frozenset(("Tensor", "SymInt", "float", "bool", "Scalar"))
_RETURNED = frozenset(("Tensor", "Tensor[]", "SymInt", "float", "bool", "Scalar"))


def infer_schema(prototype_function: Callable[..., Any], /, *, mutates_args: Any, op_name: str | None = None) -> str:
    """The schema that the annotations of a function say, after `op_name` if that is given.

    `mutates_args` names the arguments that it changes; "unknown" takes all tensors for changed. ValueError for a
    parameter without an annotation or of a type that operators do not take.

    >>> from autograph_cli import torch
    >>> def scaled(x: torch.Tensor, factor: float = 2.0) -> torch.Tensor: ...
    >>> torch.library.infer_schema(scaled, mutates_args=())
    '(Tensor x, float factor=2.0) -> Tensor'
    """
    given = inspect.signature(prototype_function)
    hints = typing.get_type_hints(prototype_function)

    def refuse(what: str) -> ValueError:
        return ValueError(f"infer_schema(func): {what} Got func with signature {given})")

    if mutates_args != "unknown" and isinstance(mutates_args, str):
        raise ValueError(
            "mutates_args must either be a sequence of the names of the arguments that are mutated or the string "
            "'unknown'. "
        )
    parts: list[str] = []
    starred = False
    for number, parameter in enumerate(given.parameters.values()):
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise refuse("We do not support positional-only args, varargs, or varkwargs.")
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            parts, starred = [*parts, "*"], True
        if parameter.annotation is parameter.empty:
            raise refuse(f"Parameter {parameter.name} must have a type annotation.")
        kind = _type(hints[parameter.name])
        if kind is None:
            raise refuse(f"Parameter {parameter.name} has unsupported type {hints[parameter.name]}.")
        if mutates_args == "unknown" or parameter.name in mutates_args:
            if kind.startswith("Tensor"):
                kind = kind.replace("Tensor", f"Tensor(a{number}!)", 1)
            elif mutates_args != "unknown":
                raise refuse(
                    f"Parameter {parameter.name} is in mutable_args but only Tensors or collections of Tensors can be "
                    "mutated"
                )
        parts.append(f"{kind} {parameter.name}{_default(parameter, refuse)}")
    if mutates_args != "unknown" and (missing := set(mutates_args) - set(given.parameters)):
        raise refuse(
            f"{missing} in mutates_args were not found in the custom op's signature. mutates_args should contain the "
            "names of all args that the custom op mutates, or just the string 'unknown' if you don't know."
        )
    return f"{op_name or ''}({', '.join(parts)}) -> {_returned(given, hints, refuse)}"


def _type(hint: Any) -> str | None:
    """Return how a schema writes the type that an annotation names; None for one that operators do not take."""
    if hint in _SINGLE:
        return _SINGLE[hint]
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        some = [one for one in inner if one is not type(None)]
        found = "Scalar" if frozenset(some) == _SCALAR else _type(some[0]) if len(some) == 1 else None
        return found and (found if len(some) == len(inner) else f"{found}?")
    if origin in (list, collections.abc.Sequence) and len(inner) == 1:
        found = _type(inner[0])
        return f"{found}[]" if found in _IN_LISTS or found == "Tensor?" else None
    return None


def _default(parameter: inspect.Parameter, refuse: Callable[[str], ValueError]) -> str:
    value = parameter.default
    if value is parameter.empty:
        return ""
    if isinstance(value, str):
        return f'="{value}"'
    if value is None or isinstance(value, (int, float, bool)):
        return f"={value}"
    if isinstance(value, (dtype, device)):
        return f"={str(value).removeprefix('torch.')}"
    raise refuse(
        f"Parameter {parameter.name} has an unsupported default value type {type(value)}. Please file an issue "
        "on GitHub so we can prioritize this."
    )


def _returned(given: inspect.Signature, hints: Any, refuse: Callable[[str], ValueError]) -> str:
    if given.return_annotation is given.empty:
        raise refuse("No return type annotation was provided. Please add one.")
    hint = hints["return"]
    several: Iterable[Any] = typing.get_args(hint) if typing.get_origin(hint) is tuple else ()
    if hint is type(None):
        return "()"
    found = [_type(one) for one in several or (hint,)]
    if any(one not in _RETURNED for one in found):
        raise refuse(f"Return has unsupported type {hint}.")
    return f"({', '.join(map(str, found))})" if several else str(found[0])

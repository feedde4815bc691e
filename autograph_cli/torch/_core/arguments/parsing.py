"""Parsing of arguments as PyTorch does it: the calls that it takes, and its messages for the others.

`signatures.txt` lists the signatures of each function in the order in which they are tried. A call that fits none is
refused with PyTorch's TypeError. `tests/torch/ops/record_signatures.py` writes the list.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..base import dtypes, layout
from ..base.class_names import type_name
from ..base.device import device
from ..base.errors import refused
from ..tape.tensor import Tensor
from .invalid_arguments import no_match

OPTIONS = (
    "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=False, bool? "
    "requires_grad=False"
)
SHOWN = {
    "Tensor": "Tensor", "Scalar": "Number", "int": "int", "SymInt": "int", "double": "float", "bool": "bool",
    "str": "str", "TensorList": "tuple of Tensors", "ITensorListRef": "tuple of Tensors",
    "c10::List<::std::optional<Tensor>>": "tuple of Tensors", "IntArrayRef": "tuple of ints",
    "SymIntArrayRef": "tuple of ints", "ArrayRef<double>": "tuple of floats", "ArrayRef<Scalar>": "tuple of Scalars",
    "ScalarList": "tuple of Scalars", "Generator": "torch.Generator", "ScalarType": "torch.dtype",
    "Layout": "torch.layout", "MemoryFormat": "torch.memory_format", "Device": "torch.device", "PyObject*": "object",
    "Storage": "torch.Storage", "DimnameList": "tuple of names", "Dimname": "name", "Stream": "Stream",
}  # fmt: skip
"""The names of types in messages, by their names in signatures."""
NUMPY_NAMES = {"dim": ("axis",), "keepdim": ("keepdims",), "input": ("x", "a", "x1"), "other": ("x2",)}
TAKE_NUMBERS = frozenset(
    f"{name}{end}"
    for name in ("add", "div", "divide", "mul", "multiply", "sub", "subtract", "true_divide", "floor_divide", "copy")
    for end in ("", "_")
)
"""Functions that take a number where the signature says Tensor."""


class Parameter(NamedTuple):
    """One parameter of a signature; `size` is 1 or more where one number may stand for a list."""

    kind: str
    name: str
    default: str | None
    keyword_only: bool
    none: bool
    size: int

    @property
    def shown(self) -> str:
        return SHOWN[self.kind]

    def __str__(self) -> str:
        end = "" if self.default is None else f" = {self.default}"
        return f"{self.shown} {self.name}{end}"


class Signature(NamedTuple):
    """The parameters of one way to call a function; a `hidden` one is taken, but not told of."""

    parameters: tuple[Parameter, ...]
    hidden: bool

    @property
    def positional(self) -> int:
        return sum(not p.keyword_only for p in self.parameters)

    @property
    def required(self) -> int:
        return sum(p.default is None for p in self.parameters)

    @property
    def takes_lengths(self) -> bool:
        """Return whether `f(2, 3)` may stand for `f((2, 3))`."""
        return self.positional == 1 and self.parameters[0].kind in ("IntArrayRef", "SymIntArrayRef")

    def __str__(self) -> str:
        parts = [str(p) for p in self.parameters]
        position = next((i for i, p in enumerate(self.parameters) if p.keyword_only), None)
        return f"({', '.join(parts if position is None else [*parts[:position], '*', *parts[position:]])})"


class Parser:
    """All signatures of one function."""

    __slots__ = ("name", "numbers", "signatures")

    def __init__(self, name: str, signatures: tuple[Signature, ...]) -> None:
        self.name = name
        self.signatures = signatures
        self.numbers = name in TAKE_NUMBERS

    def check(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
        """Return whether the types alone decided that the call is taken; a TypeError in PyTorch's words if it is
        not."""
        if len(self.signatures) == 1:
            return self._fits(self.signatures[0], args, kwargs, True)
        for signature in self.signatures:
            try:
                return self._fits(signature, args, kwargs, False)
            except _Mismatch:
                pass
        plausible = [
            s for s in self.signatures if s.required <= len(args) + len(kwargs) <= len(s.parameters) and not s.hidden
        ]
        if len(plausible) == 1:
            self._fits(plausible[0], args, kwargs, True)
        raise refused(TypeError, self._no_match(args, kwargs))

    def fitting(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Signature | None:
        """The first signature that takes a call."""
        for signature in self.signatures:
            try:
                self._fits(signature, args, kwargs, False)
            except (_Mismatch, TypeError, ValueError, OverflowError):
                continue
            return signature
        return None

    def check_method(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
        """`check` for a method; `args` are those after the tensor itself."""
        if len(self.signatures) == 1 and not self.signatures[0].parameters:
            if kwargs:
                raise refused(TypeError, f"TensorBase.{self.name}() takes no keyword arguments")
            if args:
                raise refused(TypeError, f"TensorBase.{self.name}() takes no arguments ({len(args)} given)")
        return self.check(args, kwargs)

    def _fits(self, signature: Signature, args: tuple[Any, ...], kwargs: Mapping[str, Any], tell: bool) -> bool:
        refuse: Callable[[str], Exception] = functools.partial(refused, TypeError) if tell else _Mismatch
        if len(args) > signature.positional and not signature.takes_lengths:
            raise refuse(self._too_many(signature, len(args)) if tell else "")
        position, used, by_type = 0, 0, True
        for index, parameter in enumerate(signature.parameters):
            by_name = position >= len(args)
            if not by_name and parameter.keyword_only:
                raise refuse(self._too_many(signature, len(args)) if tell else "")
            x = _keyword(parameter, kwargs) if by_name else args[position]
            if x is _ABSENT:
                if parameter.default is None:
                    raise refuse(_missing(self.name, signature, index) if tell else "")
                continue
            if not (x is None and parameter.none):
                taken = takes(parameter, x, self.numbers)
                if not taken and position == 0 and not by_name and signature.takes_lengths and _is_length(x):
                    position, by_type = len(args), by_type and all(map(_is_length, args))
                    self._check_lengths(parameter, args, refuse)
                    continue
                if not taken:
                    raise refuse(
                        self.wrong(parameter, x, args, None if by_name else position, signature) if tell else ""
                    )
                if x.__class__ in (tuple, list) and parameter.kind in _LENGTHS:
                    self._check_elements(parameter, x)
                by_type = by_type and taken is True
            position, used = (position, used + 1) if by_name else (position + 1, used)
        if used < len(kwargs):
            raise refuse(self._unknown(signature, args, kwargs) if tell else "")
        return by_type

    def _check_lengths(self, parameter: Parameter, args: tuple[Any, ...], refuse: Callable[[str], Exception]) -> None:
        self._check_elements(parameter, args)

    def _check_elements(self, parameter: Parameter, lengths: Any) -> None:
        for i, x in enumerate(lengths):
            said = (
                ""
                if _is_length(x) or (i and isinstance(x, bool))
                else f"type must be tuple of ints,but got {type_name(x)}"
            )
            if said or (isinstance(x, int) and not _LEAST <= x <= _MOST):
                raise refused(
                    TypeError,
                    f"{self.name}(): argument '{parameter.name}' failed to unpack the object at pos {i + 1} with error "
                    f'"{said or _OVERFLOW}"',
                )

    def _too_many(self, signature: Signature, given: int) -> str:
        most, least = signature.positional, signature.required
        count = (
            f"from {least} to {most} positional arguments"
            if least != most
            else f"{most} positional argument{'s' * (most != 1)}"
        )
        return f"{self.name}() takes {count} but {given} {'was' if given == 1 else 'were'} given"

    def wrong(
        self,
        parameter: Parameter,
        x: Any,
        args: tuple[Any, ...],
        position: int | None,
        signature: Signature | None = None,
    ) -> str:
        """Return what is said of an argument that its parameter does not take; `position`: None if it came by name."""
        start = f"{self.name}(): argument '{parameter.name}'"
        if position is None:
            return f"{start} must be {parameter.shown}, not {type_name(x)}"
        if parameter.shown == "tuple of Tensors" and isinstance(x, (tuple, list)):
            index, wrong = next((i, t) for i, t in enumerate(x) if not isinstance(t, Tensor))
            return f"expected Tensor as element {index} in argument {position}, but got {type_name(wrong)}"
        if signature is not None and signature.takes_lengths and len(args) > 1:
            return self._too_many(signature, len(args))
        start += f" (position {position + 1}) must be {parameter.shown}"
        if parameter.shown == "tuple of ints" and isinstance(x, (tuple, list)):
            return f"{start}, but found element of type {type_name(x[0])} at pos 0"
        return f"{start}, not {type_name(x)}"

    def _unknown(self, signature: Signature, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
        names = {p.name: i for i, p in enumerate(signature.parameters)}
        for name in kwargs:
            if name not in names:
                return f"{self.name}() got an unexpected keyword argument '{name}'"
            if names[name] < len(args):
                return f"{self.name}() got multiple values for argument '{name}'"
        return "invalid keyword arguments"

    def _no_match(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
        told = [str(s) for s in self.signatures if not s.hidden]
        return f"{self.name}() received an invalid combination of arguments - {no_match(told, args, kwargs)}"


_OVERFLOW = "Overflow when unpacking long long\n"
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1
_LENGTHS = ("IntArrayRef", "SymIntArrayRef")
WHOLE = (*_LENGTHS, "int", "SymInt")
"""The types of integers, one or several."""


class _Mismatch(Exception):
    """A signature does not fit; the next one may."""


_ABSENT: Any = object()


def _keyword(parameter: Parameter, kwargs: Mapping[str, Any]) -> Any:
    result = kwargs.get(parameter.name, _ABSENT)
    for name in NUMPY_NAMES.get(parameter.name, ()) if result is _ABSENT else ():
        result = kwargs.get(name, result)
    return result


def _missing(function: str, signature: Signature, start: int) -> str:
    names = [f'"{p.name}"' for p in signature.parameters[start:] if p.default is None]
    # The plural is PyTorch's.
    return (
        f"{function}() missing {len(names)} required positional argument{'s' * (len(names) == 1)}: {', '.join(names)}"
    )


# ---------------------------------------------------------------- what a type takes


def takes(parameter: Parameter, x: Any, numbers: bool) -> Any:
    """Return whether a parameter takes an argument: True or False by the type alone, 1 or 0 where it is a matter of the
    value."""
    return _TAKES[parameter.kind](x, parameter.size, numbers)


def _is_number(x: Any) -> bool:
    return isinstance(x, (int, float, complex, np.generic))


def _tensor(x: Any, size: int, numbers: bool) -> Any:
    return isinstance(x, Tensor) or (numbers and _is_number(x))


def _one(x: Tensor) -> bool:
    return x.ndim == 0 and not x.requires_grad


def _scalar(x: Any, size: int, numbers: bool) -> Any:
    if isinstance(x, int) and not _LEAST <= x <= 2 * _MOST + 1:
        raise refused(OverflowError, "int too big to convert")
    return int(_one(x)) if isinstance(x, Tensor) else _is_number(x)


def _double(x: Any, size: int, numbers: bool) -> Any:
    return int(_one(x)) if isinstance(x, Tensor) else isinstance(x, (int, float, np.generic))


def _integer(x: Any, size: int, numbers: bool) -> Any:
    if isinstance(x, Tensor):
        return int(_one(x) and x.dtype.category == dtypes.INTEGRAL)
    return isinstance(x, (int, np.integer)) and not isinstance(x, bool) and _unpacked(x)


def _unpacked(x: Any) -> bool:
    """True; a ValueError if an integer has more than 64 bits."""
    if not _LEAST <= x <= _MOST:
        raise refused(ValueError, _OVERFLOW.strip())
    return True


def _is_length(x: Any) -> bool:
    if isinstance(x, Tensor):
        return bool(x._ag_raw.size == 1 and x.dtype.category <= dtypes.INTEGRAL)
    return hasattr(type(x), "__index__") and not isinstance(x, (bool, np.bool_)) and not isinstance(x, np.ndarray)


def _symbolic(x: Any, size: int, numbers: bool) -> Any:
    if isinstance(x, (Tensor, np.ndarray)):
        return int(_is_length(x))
    return _is_length(x) and (not isinstance(x, int) or _unpacked(x))


def _lengths(x: Any, size: int, numbers: bool) -> Any:
    if isinstance(x, (tuple, list)):
        return not x or _is_length(x[0])
    return _symbolic(x, 0, False) if size else False


def _floats(x: Any, size: int, numbers: bool) -> Any:
    if isinstance(x, (tuple, list)):
        return not x or isinstance(x[0], (int, float, complex, np.generic))
    return isinstance(x, (int, float)) if size else False


def _tensors(x: Any, size: int, numbers: bool) -> Any:
    return isinstance(x, (tuple, list)) and all(isinstance(t, Tensor) for t in x)


def _optional_tensors(x: Any, size: int, numbers: bool) -> Any:
    return isinstance(x, (tuple, list)) and all(t is None or isinstance(t, Tensor) for t in x)


def _instance(*kinds: Any) -> Callable[[Any, int, bool], Any]:
    return lambda x, size, numbers: isinstance(x, kinds)


def _anything(x: Any, size: int, numbers: bool) -> Any:
    return True


_TAKES: dict[str, Callable[[Any, int, bool], Any]] = {
    "Tensor": _tensor,
    "Scalar": _scalar,
    "int": _integer,
    "SymInt": _symbolic,
    "double": _double,
    "bool": _instance(bool),
    "str": _instance(str),
    "TensorList": _tensors,
    "ITensorListRef": _tensors,
    "c10::List<::std::optional<Tensor>>": _optional_tensors,
    "IntArrayRef": _lengths,
    "SymIntArrayRef": _lengths,
    "ArrayRef<double>": _floats,
    "ArrayRef<Scalar>": _floats,
    "ScalarList": _floats,
    "ScalarType": lambda x, size, numbers: isinstance(x, dtypes.dtype) or x in (float, int, bool, complex),
    "Layout": _instance(layout.layout),
    "MemoryFormat": _instance(layout.memory_format),
    "Device": _instance(device, str, int),
    "PyObject*": _anything,
    "Storage": _anything,
    "DimnameList": _anything,
    "Dimname": _instance(str),
    "Stream": _anything,
    "Generator": lambda x, size, numbers: type(x).__name__ == "Generator",
}


# ---------------------------------------------------------------- the list


@functools.cache
def _listed() -> dict[str, dict[str, list[str]]]:
    """Space -> name -> signatures as they stand in the file."""
    result: dict[str, dict[str, list[str]]] = {}
    with open(os.path.join(os.path.dirname(__file__), "signatures.txt"), encoding="utf-8") as file:
        lines = file.read().splitlines()
    for line in lines:
        if line.startswith("["):
            names = result[line.strip("[]")] = {}
        else:
            names.setdefault(line.partition("(")[0], []).append(line)
    return result


_PARAMETER = r"(?P<kind>[^?\[ ]+)(?:\[(?P<size>\d+)\])?(?P<none>\??) (?P<name>\w+)(?:=(?P<default>.+))?$"


def _parameter(text: str, keyword_only: bool) -> Parameter:
    match = re.match(_PARAMETER, text)
    if match is None:
        raise refused(ValueError, f"not a parameter: {text!r}")
    default = match["default"]
    return Parameter(
        match["kind"],
        match["name"],
        default,
        keyword_only,
        bool(match["none"]) or default == "None",
        int(match["size"] or 0),
    )


def _signature(line: str) -> Signature:
    parameters, keyword_only = [], False
    text = line.replace("TensorOptions", OPTIONS)
    for part in re.split(r", (?![^<]*>)", text[text.index("(") + 1 : text.rindex(")")]):
        if part == "*":
            keyword_only = True
        elif part:
            parameters.append(_parameter(part, keyword_only))
    return Signature(tuple(parameters), line.endswith("|deprecated"))


def _of_tensor(signature: Signature) -> Signature:
    """The method's signature from the function's."""
    return Signature(tuple(p for p in signature.parameters[1:] if p.name != "out"), signature.hidden)


@functools.cache
def asked(name: str) -> tuple[Parameter, ...]:
    """Return what a function that PyTorch has in Python asks of its tensors: `kind` is a dot and the attribute."""
    return tuple(p for line in _listed()["python"].get(name, ()) for p in _signature(line).parameters)


@functools.cache
def parser(space: str, name: str) -> Parser | None:
    """The parser of `torch.<name>`, of a part of the namespace, or of a method (`Tensor`); None for what has none.

    What functions of `functional` hand their arguments to is in `nn` or in `torch`.
    """
    if space == "functional":
        return parser("nn", name) or parser("torch", name)
    full = f"{space}_{name}" if space in ("linalg", "fft", "special") else name
    lines = _listed().get(space, {}).get(full)
    if lines is None:
        return None
    if lines == [name]:
        base = parser("torch", name)
        return None if base is None else Parser(name, tuple(map(_of_tensor, base.signatures)))
    return Parser(full, tuple(map(_signature, lines)))

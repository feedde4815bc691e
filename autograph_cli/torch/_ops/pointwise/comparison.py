"""Comparisons, logic on booleans and bits, and questions about dtypes."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from ..._arrays.stand_in import MISSING, cannot_batch
from ..._core.arguments.operands import is_operand
from ..._core.arguments.overrides import NOBODY, asked_instead, looks
from ..._core.base import dtypes
from ..._core.base.class_names import type_name
from ..._core.base.errors import refused
from ..._core.base.state import process_state
from ..._core.operations import docstrings
from ..._core.operations.operation import camel, operation
from ..._core.operations.registry import composite, functions, in_place_operator, methods, overloaded, publish
from ..._core.running.device_dispatch import missing
from ..._core.running.inplace import run_inplace
from ..._core.tape.tensor import Tensor
from ..._core.tape.wrapped_numbers import wrap_number

# ---------------------------------------------------------------- comparisons


def _zeros(f: Any, grad: Any) -> Any:
    return f.zeros_like(grad)


def _comparison(name: str, alias: str, ordered: bool) -> None:
    refuses = {"c": f"{name}_cpu"} if ordered else {}
    between = operation(
        f"{name}(Tensor self, Tensor other)",
        refuses=refuses,
        float8=not ordered,
        promotes=True,
        symmetric=not ordered,
    )
    node = camel(name)
    with_number = operation(
        f"{name}_.Scalar(Tensor self, Scalar other)",
        node=f"{node}Backward0",
        pointwise=True,
        self=_zeros,
    )
    with_tensor = operation(
        f"{name}_.Tensor(Tensor self, Tensor other)",
        name,
        refuses=refuses,
        promotes=True,
        node=f"{node}Backward1",
        self=_zeros,
        other=_zeros,
    )

    def choose(input: Any, other: Any) -> Any:
        if not isinstance(input, Tensor) or not is_operand(other):
            kinds = f"{type(input).__name__}, {type(other).__name__}"
            raise refused(TypeError, f"{name}() received an invalid combination of arguments - got ({kinds})")
        return between, input, other

    def change(self: Tensor, other: Any) -> Any:
        chosen: Any = with_tensor if isinstance(other, Tensor) else with_number
        return run_inplace(chosen.op, (self, other))

    @looks
    def equal(self: Tensor, other: Any) -> Any:
        if process_state.asks and (result := asked_instead(equal, (self, other), {})) is not NOBODY:
            return result
        result = between.op.operator(self, other)
        if result is NotImplemented and isinstance(other, np.ndarray):
            return between(self, functions["from_numpy"](other))
        return result

    choose.__name__ = change.__name__ = name
    change.__doc__ = docstrings.in_place(name)
    choose.__doc__ = f"Where `input {_SYMBOLS[name]} other`, as booleans."
    overloaded(inplace=False, aliases=(alias,))(choose)
    for known in (name, alias):
        methods[f"{known}_"] = change
    methods[f"__{name}__"] = equal if name == "eq" else between.op.operator


_SYMBOLS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_comparison("eq", "eq", False)
_comparison("ne", "not_equal", False)
for _name, _alias in (("lt", "less"), ("le", "less_equal"), ("gt", "greater"), ("ge", "greater_equal")):
    _comparison(_name, _alias, True)


isclose_op = operation(
    "isclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False)",
    pointwise=True,
)


@composite()
def isclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Tensor:
    """Return where |input - other| <= atol + rtol * |other|; RuntimeError for two dtypes or a negative tolerance."""
    if input._ag_raw.dtype != other._ag_raw.dtype:
        raise RuntimeError(
            f"{dtypes.cpp_name(input._ag_raw.dtype)} did not match {dtypes.cpp_name(other._ag_raw.dtype)}"
        )
    for name, tolerance in (("rtol", rtol), ("atol", atol)):
        if not tolerance >= 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {tolerance}")
    result: Tensor = isclose_op(input, other, rtol, atol, equal_nan)
    return result


@composite()
@cannot_batch(f"vmap over torch.allclose isn't supported yet. {MISSING}")
def allclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Return whether `isclose` holds everywhere.

    >>> from autograph_cli import torch
    >>> torch.allclose(torch.tensor(1.0), torch.tensor(1.0 + 1e-7))
    True
    """
    return bool(isclose(input, other, rtol, atol, equal_nan)._ag_raw.all())


@composite()
@cannot_batch("Batching rule not implemented for aten::equal. We could not generate a fallback.")
def equal(input: Tensor, other: Tensor) -> bool:
    """Return whether shapes and all elements are the same."""
    for position, x in enumerate((input, other)):
        if not isinstance(x, Tensor):
            name = ("input", "other")[position]
            raise refused(
                TypeError,
                f"equal(): argument '{name}' (position {position + 1}) must be Tensor, not {type(x).__name__}",
            )
    a, b = input._ag_raw, other._ag_raw
    if input.is_meta or other.is_meta:
        raise missing("equal")
    return bool(a.shape == b.shape and (a == b).all())


# ---------------------------------------------------------------- questions about elements

publish(
    operation(
        "isnan(Tensor self)",
        zero_to_zero=True,
        doc="Where an element is nan, as booleans; a complex one is if one of its parts is.",
        float8=True,
        pointwise=True,
    ),
    operation(
        "isinf(Tensor self)",
        zero_to_zero=True,
        doc="Where an element is infinite, of either sign, as booleans.",
        pointwise=True,
    ),
    operation(
        "isfinite(Tensor self)", doc="Where an element is neither infinite nor nan, as booleans.", pointwise=True
    ),
)


publish(
    operation(
        "isreal(Tensor self)",
        doc="Where the imaginary part of an element is 0, as booleans.",
        float8=True,
        pointwise=True,
    ),
    operation(
        "isposinf(Tensor self)",
        zero_to_zero=True,
        doc="Where an element is plus infinity, as booleans. RuntimeError for complex tensors.",
        pointwise=True,
    ),
    operation(
        "isneginf(Tensor self)",
        zero_to_zero=True,
        doc="Where an element is minus infinity, as booleans. RuntimeError for complex tensors.",
        pointwise=True,
    ),
)

# ---------------------------------------------------------------- logic


for _name, _where in (
    ("logical_and", "both elements are not zero"),
    ("logical_or", "one of both elements, or both, are not zero"),
    ("logical_xor", "just one of both elements is not zero"),
):
    publish(
        operation(
            f"{_name}(Tensor self, Tensor other)",
            doc=f"Where {_where}, as booleans.",
            pointwise=True,
            symmetric=True,
            vmap_inplace="inplace arithmetic",
        ),
        inplace=True,
    )
publish(
    operation("logical_not(Tensor self)", doc="Where an element is zero, as booleans.", pointwise=True),
    inplace=True,
)


def _bit_operator(name: str, symbol: str, doc: str) -> None:
    made: Any = operation(
        f"{name}(Tensor self, Tensor other)",
        doc=doc,
        promotes=True,
        number_first=True,
        symmetric=not symbol.endswith("shift"),
    )
    publish(made, inplace=True)
    run = made.op.operator
    methods[f"__{symbol}__"] = run
    methods[f"__i{symbol}__"] = in_place_operator(made.op)
    if symbol.endswith("shift"):
        methods[f"__r{symbol}__"] = lambda self, other: (
            made(_wrapped(other, self), self) if is_operand(other) else NotImplemented
        )
    else:
        methods[f"__r{symbol}__"] = lambda self, other: run(self, other)


def _wrapped(number: Any, beside: Tensor) -> Tensor:
    return number if isinstance(number, Tensor) else wrap_number(number, beside)


for _row in (
    ("bitwise_and", "and", "The bits that are set in both integers or booleans."),
    ("bitwise_or", "or", "The bits that are set in one of both integers or booleans, or in both."),
    ("bitwise_xor", "xor", "The bits in which both integers or booleans differ."),
    ("bitwise_left_shift", "lshift", "`input * 2 ** other` of integers, without a check for overflow."),
    ("bitwise_right_shift", "rshift", "`input / 2 ** other` of integers, rounded down."),
):
    _bit_operator(*_row)
bitwise_not = operation(
    "bitwise_not(Tensor self)",
    doc="The integer with every bit flipped, `-input - 1` of a signed one; of booleans, the logical not.",
    pointwise=True,
)
publish(bitwise_not, inplace=True)


def _invert(self: Tensor) -> Tensor:
    if self.dtype.category > dtypes.INTEGRAL:
        raise refused(TypeError, "~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    return bitwise_not(self)


methods["__invert__"] = _invert

# ---------------------------------------------------------------- dtypes


@composite(method=False)
def is_tensor(obj: Any) -> bool:
    """Return whether `obj` is a tensor."""
    return isinstance(obj, Tensor)


@composite(method=False)
def result_type(tensor1: Any, tensor2: Any) -> Any:
    """The dtype that arithmetic of the two gives; both are tensors or numbers.

    >>> from autograph_cli import torch
    >>> torch.result_type(torch.tensor([1, 2]), 1.5)
    torch.float32
    """
    operands = (x._ag_raw if isinstance(x, Tensor) else x for x in (tensor1, tensor2))
    return dtypes.FROM_NUMPY[dtypes.result_dtype(*operands)]


@composite(method=False)
def promote_types(type1: Any, type2: Any) -> Any:
    """The smallest dtype that both can be cast to."""
    return dtypes.FROM_NUMPY[dtypes.promote(dtypes.numpy_dtype(type1), dtypes.numpy_dtype(type2))]


@composite(method=False)
def can_cast(from_: Any, to: Any) -> bool:
    """Return whether results of one dtype may be put into tensors of another."""
    source, target = (dtypes.FROM_NUMPY[dtypes.numpy_dtype(t)] for t in (from_, to))
    return source.category <= target.category


class _Limits:
    """Limits of one dtype are equal."""

    dtype: str

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash((type(self), self.dtype))


def _dtype_of(name: str, type: Any) -> dtypes.dtype:
    """A dtype, or that of Python's numbers, which have 64 bits."""
    known = {float: dtypes.float64, complex: dtypes.complex128, int: dtypes.int64, bool: dtypes.bool_}
    if not isinstance(type, dtypes.dtype) and type not in known:
        raise refused(TypeError, f"{name}(): argument 'type' (position 1) must be torch.dtype, not {type_name(type)}")
    return type if isinstance(type, dtypes.dtype) else known[type]


def _no_type() -> Any:
    raise refused(TypeError, 'iinfo() missing 1 required positional arguments: "type"')


class finfo(_Limits):
    """The limits of a floating dtype: eps, max, min, tiny, smallest_normal, resolution, bits; TypeError for others."""

    def __init__(self, type: Any = None) -> None:
        kind = (dtypes.FROM_NUMPY[process_state.default_dtype] if type is None else _dtype_of("finfo", type)).to_real()
        if not kind.is_floating_point:
            raise refused(
                TypeError, "torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.finfo'"
            )
        limits = ml_dtypes.finfo(kind.numpy)
        self.bits = 8 * kind.itemsize
        self.eps = 0.125 if kind.name == "float8_e5m2fnuz" else float(limits.eps)  # as PyTorch has it
        self.max = float(limits.max)
        self.min = float(limits.min)
        self.tiny = self.smallest_normal = float(limits.smallest_normal)
        self.resolution = 10.0 ** -{"float16": 3, "bfloat16": 2, "float32": 6, "float64": 15}.get(kind.name, 0)
        self.dtype = kind.name

    def __repr__(self) -> str:
        shown = (f"{k}={getattr(self, k):g}" for k in ("resolution", "min", "max", "eps", "smallest_normal", "tiny"))
        return f"finfo({', '.join(shown)}, dtype={self.dtype})"


class iinfo(_Limits):
    """The limits of an integer dtype: max, min, bits; TypeError for others."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        unknown = next((name for name in kwargs if name != "type"), None)
        if len(args) > 1:
            raise refused(TypeError, f"iinfo() takes 1 positional argument but {len(args)} were given")
        if unknown is not None:
            raise refused(TypeError, f"iinfo() got an unexpected keyword argument '{unknown}'")
        (type,) = args or tuple(kwargs.values()) or _no_type()
        kind = _dtype_of("iinfo", type)
        if kind.category > dtypes.INTEGRAL:
            raise refused(
                TypeError, "torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'"
            )
        if kind is dtypes.bool_:
            raise refused(TypeError, "torch.bool is not supported by torch.iinfo")
        limits = np.iinfo(kind.numpy)
        self.bits = int(limits.bits)
        self.max = int(limits.max)
        self.min = int(limits.min)
        self.dtype = kind.name

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"


finfo.__module__ = iinfo.__module__ = "torch"
functions["finfo"], functions["iinfo"] = finfo, iinfo

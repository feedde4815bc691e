"""`ReduceOp`: how the numbers of ranks become one, and which dtypes that is for."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from .._core.base import dtypes


class RedOpType(enum.Enum):
    """The kinds of reductions."""

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7
    PREMUL_SUM = 8


_Kind = RedOpType


class ReduceOp:
    """A kind of reduction, and for PREMUL_SUM the factor."""

    RedOpType = _Kind
    SUM, AVG, PRODUCT = RedOpType.SUM, RedOpType.AVG, RedOpType.PRODUCT
    MIN, MAX = RedOpType.MIN, RedOpType.MAX
    BAND, BOR, BXOR = RedOpType.BAND, RedOpType.BOR, RedOpType.BXOR
    PREMUL_SUM = RedOpType.PREMUL_SUM

    def __init__(self, op: _Kind | ReduceOp, factor: Any = None) -> None:
        self.op: _Kind = op.op if isinstance(op, ReduceOp) else op
        self.factor = factor

    def __eq__(self, other: object) -> bool:
        return self.op is getattr(other, "op", other)

    def __hash__(self) -> int:
        return hash(self.op)

    def __repr__(self) -> str:
        return f"<torch.distributed.distributed_c10d.ReduceOp.{self.op.name}>"


def _make_nccl_premul_sum(factor: Any) -> ReduceOp:
    """A sum of what each rank has, times a factor: a number or a tensor."""
    return ReduceOp(RedOpType.PREMUL_SUM, factor)


_REDUCED = frozenset(
    {"bool", "uint8", "int8", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128"}
)
_OF_COMPLEX = ("SUM", "AVG", "PREMUL_SUM")


def supports_complex(reduceOp: Any) -> bool:
    """Return whether complex numbers can be reduced so."""
    return ReduceOp(reduceOp).op.name in _OF_COMPLEX


class Reduction:
    """A reduction for numbers of a dtype. Raises PyTorch's errors where there is none."""

    def __init__(self, op: Any, dtype: np.dtype[Any], function: str) -> None:
        if not isinstance(op, (RedOpType, ReduceOp)):
            raise TypeError(f"{function}(): op must be a torch.distributed.ReduceOp, not {type(op).__name__}")
        op = ReduceOp(op, getattr(op, "factor", None))
        self.name = op.op.name
        if self.name == "PREMUL_SUM" and op.factor is None:
            raise TypeError(f"{function}(): PREMUL_SUM needs a factor: torch.distributed._make_nccl_premul_sum(factor)")
        self.factor = getattr(op.factor, "_ag_raw", op.factor)
        known = dtypes.FROM_NUMPY[dtype]
        if dtype.kind == "c" and not supports_complex(op):
            raise ValueError(f"{function} does not support {op.op} on complex tensors")
        if known.name not in _REDUCED:
            raise RuntimeError("Invalid scalar type")
        if self.name in ("BAND", "BOR", "BXOR") and known.category >= dtypes.FLOATING:
            raise RuntimeError(f"Cannot use ReduceOp.{self.name} with non-integral dtype")
        if self.name == "AVG" and known.category < dtypes.FLOATING:
            raise RuntimeError(
                f"result type Float can't be cast to the desired output type {dtypes.cpp_name(known.numpy)}"
            )
        self.carried = "SUM" if self.name in ("AVG", "PREMUL_SUM") else self.name
        """The reduction that the transport does."""

    def before(self, array: Any) -> None:
        """Change what this rank gives."""
        if self.name == "PREMUL_SUM":
            array *= np.asarray(self.factor).astype(array.dtype)

    def after(self, array: Any, size: int) -> None:
        """Change what came out of it."""
        if self.name == "AVG":
            array /= np.asarray(size).astype(array.dtype)

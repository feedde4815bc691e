"""`torch.sparse`: products, sums and softmax of sparse tensors, and the classes of the first API."""

from __future__ import annotations

from typing import Any

from ._core.base.layout import sparse_coo
from ._core.base.user_warnings import warn_once
from ._core.tape.tensor import Tensor
from ._ops.tensors.legacy import TYPED, tensortype
from ._ops.tensors.sparse import addmm, log_softmax, mm, softmax, sparse_coo_tensor, sum

__all__ = ["addmm", "log_softmax", "mm", "softmax", "sum"]


class _SparseType(tensortype):
    """`torch.sparse.FloatTensor` and kin: made of indices and values, or of sizes."""

    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, Tensor) and x.layout is sparse_coo and x.dtype is cls.dtype

    def __call__(cls, *args: Any, device: Any = None) -> Tensor:
        known = ("indices", "values", "shape") if args and isinstance(args[0], Tensor) else ("shape",)
        given = known if len(known) == 1 else known[: len(args)]
        warn_once(
            f"torch.sparse.SparseTensor({', '.join(given)}, *, device=) is deprecated.  Please use "
            f"torch.sparse_coo_tensor({', '.join(given)}, dtype=, device=)."
        )
        dtype = None
        if given == ("shape",):
            dtype, args = cls.dtype, (args[0] if args and not isinstance(args[0], int) else args or (0,),)
        result: Tensor = sparse_coo_tensor(*args, dtype=dtype, device=device)
        return result


globals().update(
    {
        name: _SparseType(
            name, (), {"__module__": "torch.sparse", "__doc__": f"Sparse tensors of {kind.dtype}.", "dtype": kind.dtype}
        )
        for name, kind in TYPED.items()
        if name != "BoolTensor"
    }
)

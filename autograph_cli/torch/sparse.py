"""`torch.sparse`: products, sums and softmax of sparse tensors."""

from __future__ import annotations

from ._ops.sparse import addmm, log_softmax, mm, softmax, sum

__all__ = ["addmm", "log_softmax", "mm", "softmax", "sum"]

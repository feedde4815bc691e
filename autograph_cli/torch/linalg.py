"""Linear algebra, as `torch.linalg` names it.

>>> from autograph_cli import torch
>>> torch.linalg.norm(torch.tensor([3.0, 4.0]))
tensor(5.)
"""
# ruff: noqa: F401  (names are here to be found)

from __future__ import annotations

from ._core.registry import functions
from ._ops.products import linalg_cross as cross
from ._ops.products import linalg_diagonal as diagonal
from ._ops.products import multi_dot, vander, vecdot

matmul = functions["matmul"]

"""`torch.nn.attention.flex_attention` is written for PyTorch's compiler: its names are there, and refuse to be
called."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["AuxOutput", "AuxRequest", "BlockMask", "create_block_mask", "flex_attention"]

_DEFAULT_SPARSE_BLOCK_SIZE = 128


def _refuse(name: str) -> NoReturn:
    raise NotImplementedError(
        f"torch.nn.attention.flex_attention.{name} is not available in autograph's engine; use "
        "torch.nn.functional.scaled_dot_product_attention"
    )


class BlockMask:
    """A mask of blocks; NotImplementedError when one is made."""

    def __init__(self, *args: Any, **options: Any) -> None:
        _refuse(type(self).__name__)


class AuxOutput(BlockMask):
    """Further results of attention; NotImplementedError when one is created."""


class AuxRequest(BlockMask):
    """A request for further results of attention; NotImplementedError when one is created."""


def create_block_mask(*args: Any, **options: Any) -> NoReturn:
    """NotImplementedError."""
    _refuse("create_block_mask")


def flex_attention(*args: Any, **options: Any) -> NoReturn:
    """NotImplementedError."""
    _refuse("flex_attention")

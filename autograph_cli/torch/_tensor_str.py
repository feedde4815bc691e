"""`torch._tensor_str`: the options of printing, and the text of a tensor."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from ._core.tape import formatting
from ._ops.tensors import printing
from ._ops.tensors.printing import set_printoptions

__all__ = ["PRINT_OPTS", "get_printoptions", "printoptions", "set_printoptions"]


class _Options:
    """The options that hold now; setting one holds for all that is printed from then on."""

    def __getattr__(self, name: str) -> Any:
        return getattr(printing.options(), name)

    def __setattr__(self, name: str, value: Any) -> None:
        printing.use_options(printing.options()._replace(**{name: value}))


PRINT_OPTS = _Options()


def get_printoptions() -> dict[str, Any]:
    """The options that hold now, by name."""
    return printing.options()._asdict()


@contextlib.contextmanager
def printoptions(**kwargs: Any) -> Iterator[None]:
    """Other options inside the block, those of `set_printoptions`."""
    before: formatting.PrintOptions = printing.options()
    set_printoptions(**kwargs)
    try:
        yield
    finally:
        printing.use_options(before)


def _tensor_str(self: Any, indent: int) -> str:
    """The elements alone, lines after the first `indent` columns in."""
    return formatting.contents_str(self._ag_raw, indent, printing.options()) if self.numel() else "[]"


def _str(self: Any, *, tensor_contents: Any = None) -> str:
    """`repr` of a tensor."""
    if tensor_contents is not None:
        raise NotImplementedError("torch._tensor_str._str: tensor_contents is not available in autograph's engine")
    return printing.text(self)

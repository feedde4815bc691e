"""Calls of custom Functions, seen as they are made."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

Around = Callable[[Any, tuple[Any, ...], dict[str, Any]], AbstractContextManager[None]]
"""Given the class and the arguments of a call: the context in which it is made."""


@contextlib.contextmanager
def around_calls(torch: Any, around: Around) -> Iterator[None]:
    """Within the block, custom Functions are applied in this context."""
    base = torch.autograd.Function
    original = base.__dict__["apply"]

    def apply(cls: Any, *args: Any, **words: Any) -> Any:
        with around(cls, args, words):
            return original.__get__(None, cls)(*args, **words)

    base.apply = classmethod(apply)
    try:
        yield
    finally:
        base.apply = original


def applying(cls: Any) -> Callable[..., Any]:
    """Return what applies a Function as `apply` is when it is called, whatever it is now."""
    return lambda *args, **words: cls.apply(*args, **words)

"""Modes that are put back even when a signal's handler raises: Ctrl-C, a timeout.

Python runs such handlers where a function starts, after a call of C code, and where a loop turns; nowhere else. So what
puts a mode back is plain stores, in functions that start `uninterruptible`.
"""

from __future__ import annotations

import contextlib
import functools
import opcode
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any, TypeVar

Run = TypeVar("Run", bound=Callable[..., Any])
_RESUME = opcode.opmap["RESUME"]
_AFTER_YIELD_FROM = 2


def uninterruptible(function: Run) -> Run:
    """The function, begun without running handlers of signals; so it is throughout if it neither calls nor loops.

    Its code says that it resumes after `yield from`, where Python leaves handlers to the inner generator.
    """
    code = bytearray(function.__code__.co_code)
    start = next((position for position in range(0, len(code), 2) if code[position] == _RESUME), None)
    if start is not None:
        code[start + 1] = _AFTER_YIELD_FROM
        function.__code__ = function.__code__.replace(co_code=bytes(code))
    return function


_EXIT: Any = contextlib._GeneratorContextManager.__exit__


class _Manager(contextlib._GeneratorContextManager[Any]):
    """A context manager whose generator's `finally` is reached whenever it was begun."""

    def __enter__(self) -> Any:
        try:
            return next(self.gen)
        except StopIteration:
            raise RuntimeError("generator didn't yield") from None
        except BaseException:
            self.gen.close()
            raise

    __exit__ = uninterruptible(FunctionType(_EXIT.__code__, _EXIT.__globals__, "__exit__"))


def contextmanager(function: Callable[..., Iterator[Any]]) -> Callable[..., _Manager]:
    """`contextlib.contextmanager` for generators that switch a mode between `try` and `finally`."""
    made: Any = function

    @functools.wraps(function)
    def make(*args: Any, **kwargs: Any) -> _Manager:
        return _Manager(made, args, kwargs)

    return make

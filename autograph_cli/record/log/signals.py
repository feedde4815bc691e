"""Handlers of signals: code of the script, wherever Python runs it."""

from __future__ import annotations

import atexit
import contextlib
import signal
import threading
import traceback
from collections.abc import Iterator
from types import FunctionType, MethodType
from typing import Any

_TOLD = ("SIGALRM", "SIGVTALRM", "SIGPROF", "SIGUSR1", "SIGUSR2", "SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGCHLD")
"""Signals of timers, persons and other processes; all others tell of an error of this thread."""
_TOLD_NUMBERS = frozenset(number for name in _TOLD if (number := getattr(signal, name, None)) is not None)
_AS_BEFORE = {getattr(signal, name, None) for name in ("SIGINT", "SIGTERM", "SIGCHLD")}
"""Signals that end the process on purpose, and that whose ignoring would take the ends of child processes away."""


@contextlib.contextmanager
def held() -> Iterator[None]:
    """Within the block this thread runs no handler; those that are due run at its end."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _TOLD_NUMBERS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def handlers() -> dict[int, Any]:
    """The handlers of now."""
    return {number: signal.getsignal(number) for number in _TOLD_NUMBERS}


def retire(before: dict[int, Any]) -> None:
    """Put back the handlers that were there `before` the script, which is over; they are its own again while the
    process ends. A timer that is left ends nothing."""
    if threading.current_thread() is not threading.main_thread():
        return
    for number, handler in before.items():
        now = signal.getsignal(number)
        if isinstance(now, (FunctionType, MethodType)) and now is not handler:
            back = number in _AS_BEFORE or handler is not signal.SIG_DFL
            signal.signal(number, handler if back else signal.SIG_IGN)
            atexit.register(signal.signal, number, now)


_OWN_DEPTH = 100
"""The recorder itself calls less deep than this, unless it is what does not end."""


def of_the_script(error: BaseException) -> bool:
    """Return whether the error is the script's, whatever it broke off: a handler of its raised it, or its calls had
    come so deep that the recorder was the last."""
    return _of_a_handler(error) or (isinstance(error, RecursionError) and _depth(error) < _OWN_DEPTH)


def _depth(error: BaseException) -> int:
    return sum(1 for _ in traceback.walk_tb(error.__traceback__))


def _of_a_handler(error: BaseException) -> bool:
    handlers = [signal.getsignal(number) for number in signal.valid_signals()]
    codes = {handler.__code__ for handler in handlers if isinstance(handler, FunctionType)}
    return any(frame.f_code in codes for frame, _ in traceback.walk_tb(error.__traceback__))

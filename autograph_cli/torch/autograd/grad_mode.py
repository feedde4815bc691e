"""Grad modes: `no_grad`, `enable_grad`, `set_grad_enabled`, `inference_mode`."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Generator
from typing import Any, TypeVar

from .._core.base.state import process_state, thread_state
from .._core.base.user_warnings import warn

Run = TypeVar("Run", bound=Callable[..., Any])


def count_special(change: int) -> None:
    """Count the modes that send operations through full dispatch."""
    process_state.special += change


class ContextDecorator:
    """A context manager that also decorates functions, generator functions and (deprecated) classes."""

    def clone(self) -> Any:
        """A new manager of the same mode: each call of a decorated function has its own."""
        return type(self)()

    def __enter__(self) -> Any:
        raise NotImplementedError

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        raise NotImplementedError

    def __call__(self, function: Run) -> Run:
        decorated: Run = decorate(self.clone, function)
        return decorated


def decorate(manager: Callable[[], Any], function: Any) -> Any:
    """`function`, run inside `manager()` whenever it is called or resumed."""
    if inspect.isclass(function):
        warn(
            "Decorating classes is deprecated and will be disabled in future versions. You should only decorate "
            "functions or methods. To preserve the current behavior of class decoration, you can directly decorate "
            "the `__init__` method and nothing else.",
            FutureWarning,
        )
        initialized: Any = function
        initialized.__init__ = decorate(manager, initialized.__init__)
        return initialized
    if inspect.isgeneratorfunction(function):
        return _decorate_generator(manager, function)

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        with manager():
            return function(*args, **kwargs)

    return run


def _decorate_generator(manager: Callable[[], Any], function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        generator = function(*args, **kwargs)
        step: Callable[[], Any] = functools.partial(next, generator)
        while True:
            try:
                with manager():
                    value = step()
            except StopIteration as end:
                return end.value
            try:
                step = functools.partial(generator.send, (yield value))
            except GeneratorExit:
                with manager():
                    generator.close()
                raise
            except BaseException as error:
                step = functools.partial(generator.throw, error)

    return run


class _Bare(ContextDecorator):
    """A mode without arguments: `@no_grad` means `@no_grad()`."""

    def __new__(cls, function: Any = None) -> Any:
        made = object.__new__(cls)
        return made if function is None or not callable(function) else made(function)


class no_grad(_Bare):
    """Operations inside leave no graph.

    >>> from autograph_cli import torch
    >>> x = torch.tensor(1.0, requires_grad=True)
    >>> with torch.no_grad():
    ...     (x * 2).requires_grad
    False
    """

    def __init__(self, _function: Any = None) -> None:
        self.prev = False

    def __enter__(self) -> None:
        self.prev, thread_state.grad = thread_state.grad, False

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        thread_state.grad = self.prev


class enable_grad(_Bare):
    """Operations inside are recorded, also within `no_grad`.

    >>> from autograph_cli import torch
    >>> x = torch.tensor(1.0, requires_grad=True)
    >>> with torch.no_grad(), torch.enable_grad():
    ...     (x * 2).requires_grad
    True
    """

    def __init__(self, _function: Any = None) -> None:
        self.prev = False

    def __enter__(self) -> None:
        self.prev, thread_state.grad = thread_state.grad, True

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        thread_state.grad = self.prev


class set_grad_enabled(ContextDecorator):
    """Turn recording on or off: at once as a call, for a block as a context manager.

    >>> from autograph_cli import torch
    >>> with torch.set_grad_enabled(False):
    ...     torch.is_grad_enabled()
    False
    """

    def __init__(self, mode: bool) -> None:
        if not isinstance(mode, bool):
            raise TypeError(
                f"set_grad_enabled(): argument 'enabled' (position 1) must be bool, not {type(mode).__name__}"
            )
        self.prev = thread_state.grad
        self.mode = mode
        thread_state.grad = mode

    def __call__(self, function: Any) -> Any:
        thread_state.grad = self.prev
        return super().__call__(function)

    def __enter__(self) -> None:
        thread_state.grad = self.mode

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        thread_state.grad = self.prev

    def clone(self) -> set_grad_enabled:
        return type(self)(self.mode)

    def __repr__(self) -> str:
        return f"{type(self).__module__}.set_grad_enabled(mode={self.mode})"


class set_multithreading_enabled(ContextDecorator):
    """Allow a backward pass to run devices in threads of their own: at once as a call, for a block as a context
    manager. On the CPU, the only device here, a pass runs in the thread that calls it, as in PyTorch.

    >>> from autograph_cli import torch
    >>> with torch.autograd.set_multithreading_enabled(False):
    ...     torch.autograd.is_multithreading_enabled()
    False
    """

    def __init__(self, mode: bool) -> None:
        self.prev = is_multithreading_enabled()
        self.mode = mode
        _threads.wanted = mode

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        _threads.wanted = self.prev

    def clone(self) -> set_multithreading_enabled:
        return type(self)(self.mode)


_threads = threading.local()


def is_multithreading_enabled() -> bool:
    """Return what `set_multithreading_enabled` was told last in this thread."""
    return getattr(_threads, "wanted", True)


class inference_mode(ContextDecorator):
    """Operations inside leave no graph, and their results can never enter one.

    >>> from autograph_cli import torch
    >>> with torch.inference_mode():
    ...     torch.ones(2).is_inference()
    True
    """

    def __new__(cls, mode: Any = True) -> Any:
        result = object.__new__(cls)
        if isinstance(mode, bool):
            return result
        result.mode, result._before = True, []
        return result(mode)

    def __init__(self, mode: Any = True) -> None:
        self.mode = mode
        self._before: list[tuple[bool, bool]] = []

    def __enter__(self) -> None:
        before = thread_state.inference, thread_state.grad
        self._before = [*self._before, before]
        _set_inference(self.mode, not self.mode)

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        inference, grad = self._before[-1]
        _set_inference(inference, grad)
        del self._before[-1]

    def clone(self) -> inference_mode:
        return type(self)(self.mode)


def _set_inference(inference: bool, grad: bool) -> None:
    if inference != thread_state.inference:
        count_special(1 if inference else -1)
    thread_state.inference, thread_state.grad = inference, grad


def is_grad_enabled() -> bool:
    """Return whether operations are recorded now."""
    return thread_state.grad


def is_inference_mode_enabled() -> bool:
    """Return whether an `inference_mode` block is running."""
    return thread_state.inference

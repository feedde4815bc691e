"""Levels: the transforms that are running, and which tensors were made inside of which."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from ..base.state import process_state, thread_state
from ..tape.node import View
from ..tape.tensor import Tensor, Wrapped

if TYPE_CHECKING:
    from ..operations.operation import Operation
    from .reverse import GradCall
    from .transforms import Dual

Result = TypeVar("Result")


F = TypeVar("F", bound=Callable[..., Any])


class Level:
    """One running transform; `depth` counts from 1, the outermost."""

    __slots__ = ("alive", "depth", "modes", "outer")

    follows_all = False
    """True if every tensor created while the transform runs is one of its own, as for derivatives of functions."""
    leaves_alone = True
    """True if plain tensors are computed as without the transform."""

    def __init__(self) -> None:
        self.depth = 0
        self.alive = False
        self.outer: Level | None = None
        """The transform around this one."""
        self.modes: tuple[tuple[Level, ...], bool] = ((), False)
        """The state of `thread_state` outside this transform."""

    def made(self, x: Tensor) -> bool:
        """Return whether `x`, or what it is a view of, was made while this transform ran."""
        edge = x._ag_edge
        base = edge.base if edge.__class__ is View and not isinstance(x, Wrapped) else x
        level: Level | None = getattr(base, "_ag_born", None)
        while level is not None and level is not self:
            level = level.outer
        return level is self

    def run(self, op: Operation, args: tuple[Any, ...]) -> Any:
        """The result of `op`, of whose arguments some are wrapped at this level and none at a higher one."""
        raise NotImplementedError

    def inplace(self, op: Operation, args: tuple[Any, ...]) -> Tensor:
        """Put the result of `op` into its first argument."""
        raise NotImplementedError

    def grad(self, call: GradCall) -> list[Tensor | None]:
        """The gradients that `autograd.grad` is asked for, of tensors of which some are wrapped at this level."""
        raise NotImplementedError

    def function(self, cls: Any, args: tuple[Any, ...]) -> Any:
        """Return what `cls.apply(*args)` gives, for a custom Function."""
        raise NotImplementedError

    def refuse_call(self, name: str) -> None:
        refuse_call(name)

    def refuse_captured(self, tensor: Tensor, name: str) -> None:
        refuse_captured(tensor, name)

    def refuse_out(self, name: str) -> Exception:
        """The error of `out=` with a tensor of this level."""
        return RuntimeError(
            f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the "
            "arguments requires grad."
        )


class DualLevel(Level):
    """Forward mode: tensors are pairs of a primal and a tangent."""

    __slots__ = ("by_hand", "promoted")

    leaves_alone = False

    def __init__(self, by_hand: bool = False) -> None:
        super().__init__()
        self.by_hand = by_hand
        """Entered by `forward_ad.dual_level`, not by a transform of a function."""
        self.promoted: list[Dual] = []
        """Plain tensors that became duals, by an in-place change."""

    @property
    def follows_all(self) -> bool:  # type: ignore[override]
        """Return whether the level was entered by a transform, not by `forward_ad.dual_level`."""
        return not self.by_hand

    def refuse_out(self, name: str) -> Exception:
        return NotImplementedError(
            f"Trying to use forward AD with {name}_out that does not support it because it is an out= function"
        )


class GradLevel(Level):
    """Reverse mode: nothing is wrapped, as there is one tape; but what was made outside must not be changed inside."""

    __slots__ = ()

    follows_all = True


class BatchLevel(Level):
    """Batching: a tensor's value has one dimension more, of `size` elements, than it shows."""

    __slots__ = ("randomness", "size")

    def __init__(self, size: int, randomness: str = "error") -> None:
        super().__init__()
        self.size = size
        self.randomness = randomness

    def refuse_out(self, name: str) -> Exception:
        return RuntimeError(
            f"Batching rule not implemented for aten::{name}.out; the fallback path doesn't work on out= or view ops."
        )


def interprets(kind: type[Level], name: str) -> Callable[[F], F]:
    """Make a function the method `name` of a kind of level: how it interprets stands in a file above this one."""

    def put(function: F) -> F:
        setattr(kind, name, function)
        return function

    return put


def start(level: Level) -> None:
    """Make `level` the innermost transform."""
    level.depth, level.alive = len(thread_state.levels) + 1, True
    level.outer = thread_state.levels[-1] if thread_state.levels else None
    level.modes = thread_state.levels, thread_state.wrapping
    wrapping = thread_state.wrapping or not isinstance(level, GradLevel)
    process_state.special += 1
    process_state.transforms += level.leaves_alone
    thread_state.levels, thread_state.wrapping = (*thread_state.levels, level), wrapping


def stop(level: Level) -> None:
    """End the innermost transform."""
    thread_state.levels, thread_state.wrapping = level.modes
    level.alive = False
    process_state.special -= 1
    process_state.transforms -= level.leaves_alone
    for tensor in getattr(level, "promoted", ()):
        tensor.demote()


@contextmanager
def running(level: Level) -> Iterator[Any]:
    """Within the block, `level` is the innermost transform."""
    start(level)
    try:
        yield level
    finally:
        stop(level)


@contextmanager
def below(level: Level) -> Iterator[None]:
    """Within the block, only transforms outside `level` are running."""
    outer, wrapping = thread_state.levels, thread_state.wrapping
    thread_state.levels = outer[: level.depth - 1]
    thread_state.wrapping = _wraps(thread_state.levels)
    try:
        yield
    finally:
        thread_state.levels, thread_state.wrapping = outer, wrapping


def _wraps(levels: tuple[Level, ...]) -> bool:
    return any(not isinstance(level, GradLevel) for level in levels)


# ---------------------------------------------------------------- inside a transform of a function


def in_function() -> bool:
    """Return whether a transform of a function runs (`grad`, `jvp`, `vmap`, ...), not just a `dual_level`."""
    return any(not getattr(level, "by_hand", False) for level in thread_state.levels)


def is_followed(tensor: Tensor) -> bool:
    """Return whether a running derivative of a function follows the tensor: whether it is not captured."""
    return any(level.follows_all and level.made(tensor) for level in thread_state.levels)


def refuse_captured(tensor: Tensor, name: str) -> None:
    """Raise PyTorch's error where the in-place operation `name` would change what the function under a transform only
    captured."""
    level = next((level for level in reversed(thread_state.levels) if level.follows_all), None)
    if level is None:
        return
    while isinstance(tensor, Wrapped) and tensor._ag_level.depth > level.depth:
        tensor = tensor._ag_inner
    if not level.made(tensor) and not (isinstance(tensor, Wrapped) and tensor._ag_level is level):
        raise RuntimeError(
            "During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to call in-place operation "
            f"(aten::{name}) that would mutate a captured Tensor. This is not supported; please rewrite the function "
            "being transformed to explicitly accept the mutated Tensor(s) as inputs."
        )


def belongs_here(result: Result) -> Result:
    """Results of an operation that a transform further out has done, as tensors made in the innermost one."""
    for x in result if isinstance(result, (tuple, list)) else (result,):
        if isinstance(x, Tensor) and thread_state.levels:
            x._ag_born = thread_state.levels[-1]
    return result


def born_with(tensor: Tensor, views: Any) -> Any:
    """Views that a transform further out has made, as tensors of the transform in which what they show was made."""
    for x in views if isinstance(views, (tuple, list)) else (views,):
        x._ag_born = getattr(tensor, "_ag_born", None)
    return views


def refuse_call(name: str) -> None:
    """Raise PyTorch's error where a method that asks for gradients is called inside a transform of a function."""
    if in_function():
        apis = " (or perhaps using torch.autograd.functional.* APIs)" if name == "requires_grad_" else ""
        raise RuntimeError(
            f"You are attempting to call Tensor.{name}(){apis} inside of a function being transformed by a functorch "
            "transform. This is unsupported, please attempt to use the functorch transforms (e.g. grad, vjp, jacrev, "
            f"jacfwd, hessian) or call {name}() outside of a function being transformed instead."
        )

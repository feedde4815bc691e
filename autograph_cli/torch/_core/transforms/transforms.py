"""Transforms: levels, the tensors that they wrap, and the way of an operation to the highest level among its arguments.

Forward mode (`Dual`) and batching (`Batched`) are interpreters above the one tape: an operation that meets a wrapped
tensor is done by the highest level among its arguments, with operations of lower levels, down to the ordinary ones.
Reverse mode needs no wrapper: see reverse.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..._arrays.stand_in import NO_MEMORY, StandIn
from ..base.state import thread_state
from ..running.device_dispatch import kernels
from ..tape.node import View
from ..tape.tensor import Tensor, Wrapped, blank, make, share
from .interpreter_stack import BatchLevel, Level, refuse_call

if TYPE_CHECKING:
    from ..operations.operation import Operation


# ---------------------------------------------------------------- wrapped tensors


def _slot(name: str) -> Any:
    """A slot of a tensor, instead of which a wrapper shows its lower tensor's."""
    return property(
        lambda self: getattr(self._ag_inner, name), lambda self, value: setattr(self._ag_inner, name, value)
    )


class Dual(Wrapped):
    """A primal and its tangent. It looks like its primal in everything.

    It has no slots of its own, so that a plain tensor can become one when it is changed in place by a dual.
    """

    __slots__ = ()

    _ag_primal: Tensor
    _ag_tangent: Tensor

    _ag_inner = property(lambda self: self._ag_primal)
    _ag_edge = _slot("_ag_edge")
    _ag_counter = _slot("_ag_counter")
    _ag_meta = _slot("_ag_meta")

    @property
    def _ag_raw(self) -> Any:
        return self._ag_primal._ag_raw

    @_ag_raw.setter
    def _ag_raw(self, raw: Any) -> None:
        if raw.shape != self._ag_primal._ag_raw.shape:
            raise NotImplementedError(
                "this change of the shape of a tensor with a tangent is not available in autograph's engine"
            )
        self._ag_primal._ag_raw = raw

    def _ag_lower(self, change: Callable[[Tensor], Any]) -> Any:
        return dual(self._ag_level, change(self._ag_primal), change(self._ag_tangent))

    def _ag_shared(self, counts: bool) -> Tensor:
        return share(self._ag_primal, counts)

    def demote(self) -> None:
        """Be a plain tensor again."""
        primal = self._ag_primal
        self.__class__ = Tensor  # type: ignore[assignment]
        for name in _SLOTS:
            setattr(self, name, getattr(primal, name))
        del self._ag_level, self._ag_primal, self._ag_tangent
        if "_ag_viewed" in self.__dict__:
            self._ag_edge.base = self.__dict__.pop("_ag_viewed")


_SLOTS = ("_ag_raw", "_ag_edge", "_ag_counter", "_ag_meta")


def dual(level: Level, primal: Tensor, tangent: Tensor) -> Dual:
    """The pair as a tensor of `level`."""
    result: Dual = blank(Dual)
    result._ag_level, result._ag_primal, result._ag_tangent = level, primal, tangent
    return result


class Batched(Wrapped):
    """A tensor for each position of a batch, the dimension `_ag_bdim` of `_ag_value`, which does not show."""

    __slots__ = ("_ag_bdim", "_ag_level", "_ag_value")

    _ag_level: BatchLevel
    _ag_value: Tensor
    _ag_bdim: int

    _ag_inner = property(lambda self: self._ag_value)
    _ag_raw = property(lambda self: StandIn(self._ag_value._ag_raw, self._ag_bdim))
    device = property(lambda self: self._ag_value.device)
    is_meta = property(lambda self: self._ag_value.is_meta)
    is_cpu = property(lambda self: self._ag_value.is_cpu)
    _ag_edge = _slot("_ag_edge")
    _ag_counter = _slot("_ag_counter")
    _ag_meta = _slot("_ag_meta")

    def _ag_lower(self, change: Callable[[Tensor], Any]) -> Any:
        return batched(self._ag_level, change(self._ag_value), self._ag_bdim)

    def _ag_shared(self, counts: bool) -> Tensor:
        return batched(self._ag_level, share(self._ag_value, counts), self._ag_bdim)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        refuse_call("requires_grad_")
        raise RuntimeError("requires_grad_() of a tensor whose vmap is over")

    def register_hook(self, hook: Any) -> Any:
        if self._ag_level is thread_state.levels[-1]:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        raise NotImplementedError("register_hook of a tensor under vmap is not available in autograph's engine")

    def retain_grad(self) -> None:
        if self._ag_level is thread_state.levels[-1]:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        refuse_call("retain_grad")
        raise NotImplementedError("retain_grad of a tensor under vmap is not available in autograph's engine")

    @property  # type: ignore[misc]
    def data(self) -> Tensor:
        raise RuntimeError("accessing `data` under vmap transform is not allowed")

    def numpy(self, **_: Any) -> Any:
        raise RuntimeError(NO_MEMORY)


Dual.__name__ = Dual.__qualname__ = Batched.__name__ = Batched.__qualname__ = "Tensor"
"""As in PyTorch, they are shown as what they stand for."""


def batched(level: BatchLevel, value: Tensor, bdim: int) -> Batched:
    """`value`, whose dimension `bdim` is the batch, as a tensor of `level`."""
    result: Batched = blank(Batched)
    result._ag_level, result._ag_value, result._ag_bdim = level, value, bdim
    return result


def beside(x: Tensor, run: Callable[..., Tensor], size: tuple[int, ...] | None = None) -> Tensor:
    """A new tensor for each sample of `x`: what `run(tensor)`, or `run(tensor, size)`, makes beside the plain
    tensor."""
    if isinstance(x, Batched):
        given = None if size is None else (x._ag_level.size, *size)
        return batched(x._ag_level, beside(x._ag_value, run, given), x._ag_bdim if size is None else 0)
    if isinstance(x, Dual):
        return beside(x._ag_primal, run, size)
    return run(x) if size is None else run(x, size)


def top_level(args: Any) -> Level | None:
    """The highest living level among tensors, in arguments and in lists of them."""
    result: Level | None = None
    for x in args:
        if x.__class__ is Tensor and x._ag_edge.__class__ is not View:
            continue
        level = x._ag_level if isinstance(x, Wrapped) else _level_of_other(x)
        if level is not None and level.alive and (result is None or level.depth > result.depth):
            result = level
    return result


def _level_of_other(x: Any) -> Level | None:
    if isinstance(x, (tuple, list)):
        return top_level(x)
    return x._ag_edge.base._ag_level if isinstance(x, Tensor) and views_dual(x) else None


def views_dual(x: Tensor) -> bool:
    """Return whether `x` is a view that was made before its base became a dual."""
    edge = x._ag_edge
    if edge.__class__ is not View or edge.base.__class__ is not Dual:
        return False
    return edge.path is not None or bool(x._ag_raw.dtype == edge.base._ag_raw.dtype)


# ---------------------------------------------------------------- operations


def inplace_name(op: Operation) -> str:
    """Return how PyTorch names the in-place form of an operation: `add_.Tensor`."""
    overload = op.schema.overload or ("Tensor" if op.promotes and len(op.tensors) > 1 else "")
    return f"{op.name.rstrip('_')}_.{overload}".rstrip(".")


def core(x: Tensor) -> Tensor:
    """The ordinary tensor whose graph a wrapped one shows."""
    return core(x._ag_inner) if isinstance(x, Wrapped) else x


def plain_parts(x: Tensor) -> list[Tensor]:
    """The ordinary tensors of which `x` is made."""
    if isinstance(x, Dual):
        return plain_parts(x._ag_primal) + plain_parts(x._ag_tangent)
    return plain_parts(x._ag_inner) if isinstance(x, Wrapped) else [x]


def has_tangent(x: Tensor) -> bool:
    """Return whether forward mode follows `x`."""
    return isinstance(x, Wrapped) and (isinstance(x, Dual) or has_tangent(x._ag_inner))


def detached(x: Tensor) -> Tensor:
    """`x` outside the graph, tangents and all."""
    return x._ag_lower(detached) if isinstance(x, Wrapped) else share(x, counts=True)


def zeros_like(x: Tensor) -> Tensor:
    """Zeros, outside every transform."""
    return make(kernels(core(x)._ag_raw).zeros(x._ag_raw.shape, x._ag_raw.dtype)[()])


def zero_where(absent: bool, x: Tensor) -> Tensor:
    """`x`, a product with a tangent; zeros where that is absent, though the other factor may be infinite or no
    number."""
    for part in plain_parts(x) if absent else ():
        part._ag_raw = zeros_like(part)._ag_raw
    return x

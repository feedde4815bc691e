"""Batching: an operation on tensors with a further dimension in front, which it must not see.

`run(call)` computes what a loop over that dimension would, and stacks. How is said in the operation's record
(`batch=`): pointwise operations align their arguments, dimensions are counted from the second on, a batch in front is
let through, folded into a batch that is there, or worked out by other operations (batching_rules.py); what is left
is a loop. Every rule calls operations on tensors, so that what it does is recorded, differentiated and batched again.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from ..._arrays.stand_in import StandIn
from ..base import dims, dtypes
from ..base.state import thread_state
from ..operations.operation import Operation, operations, table
from ..running import dispatch
from ..running.inplace import run_inplace
from ..tape.tensor import Tensor, Wrapped
from .interpreter_stack import BatchLevel, interprets
from .transforms import Batched, batched, top_level

f = operations


class Call:
    """One call of an operation: its arguments, of which some tensors have `size` samples along their first
    dimension."""

    __slots__ = ("args", "marks", "op", "size")

    def __init__(self, op: Operation, args: Iterable[Any], marks: Iterable[Any], size: int) -> None:
        self.op = op
        self.args = list(args)
        self.marks = list(marks)
        """For each argument whether it is batched; a tuple of such for a list of tensors."""
        self.size = size

    def __getitem__(self, name: str) -> Any:
        return self.args[self.position(name)]

    def position(self, name: str) -> int:
        return next(i for i, p in enumerate(self.op.schema.parameters) if p.name == name)

    def has(self, name: str) -> bool:
        """Return whether the argument of this name is batched."""
        return bool(self.marks[self.position(name)])

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of one sample of the tensor of this name."""
        i = self.position(name)
        return sample_shape(self.args[i], self.marks[i])

    def full(self, name: str) -> Tensor:
        """The tensor of this name, expanded where it is not batched."""
        i = self.position(name)
        return expanded(self.args[i], self.marks[i], self.size)

    def every(self, change: Callable[[Tensor, bool], Any]) -> list[Any]:
        """The arguments, with `change(tensor, batched)` instead of each tensor."""
        args = list(self.args)
        for i, parameter in self.op.positions:
            if parameter.is_list:
                args[i] = [None if t is None else change(t, m) for t, m in zip(args[i], self.marks[i], strict=True)]
            elif args[i] is not None:
                args[i] = change(args[i], self.marks[i])
        return args

    def ranks(self) -> list[int]:
        """The number of dimensions of one sample of each tensor."""
        result: list[int] = []
        self.every(lambda t, batched: result.append(t._ag_raw.ndim - batched))
        return result


Rule = Callable[[Call], Any]
"""Gives the operation's results, all with the batch in front."""


def sample_shape(tensor: Tensor, batched: bool) -> tuple[int, ...]:
    """The shape of one sample."""
    return tuple(tensor._ag_raw.shape[1:] if batched else tensor._ag_raw.shape)


def expanded(tensor: Tensor, batched: bool, size: int) -> Tensor:
    """The tensor with the batch in front, at no cost in memory."""
    result: Tensor = tensor if batched else f.expand(tensor, (size, *tensor._ag_raw.shape))
    return result


def raised(tensor: Tensor, batched: bool, rank: int) -> Tensor:
    """A tensor that broadcasts as its samples do, where the largest has `rank` dimensions."""
    shape = tensor._ag_raw.shape
    missing = rank + 1 - len(shape)
    if not batched or not missing:
        return tensor
    result: Tensor = f.view(tensor, (shape[0], *[1] * missing, *shape[1:]))
    return result


def reshaped(tensor: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The tensor in this shape; itself where it has it."""
    result: Tensor = tensor if tensor._ag_raw.shape == shape else f.reshape(tensor, shape)
    return result


# ---------------------------------------------------------------- general rules


def pointwise(call: Call) -> Any:
    """Element by element: batches in front, and samples broadcast as they do alone."""
    return dispatch.run(call.op, tuple(aligned(call)))


def aligned(call: Call) -> list[Any]:
    """Arguments that broadcast with the batch in front; dtypes as they are without it."""
    rank = max(call.ranks())

    def change(t: Tensor, batched: bool) -> Tensor:
        return raised(t, batched, rank)

    if not call.op.promotes or 0 not in call.ranks():
        return call.every(change)
    like: list[Any] = []
    call.every(lambda t, batched: like.append(StandIn(t._ag_raw, 0) if batched else t._ag_raw))
    common = dtypes.result_dtype(*like)
    return call.every(lambda t, batched: change(t if t._ag_raw.dtype == common else f._to_copy(t, common), batched))


DIMS = frozenset(("dim", "dims", "dim0", "dim1", "dim2", "dimension", "axis"))
"""Names of arguments that are dimensions."""
SIZES = frozenset(("size", "input_sizes", "sizes"))
"""Names of arguments that are whole shapes."""


def leading(call: Call, more: int = 0, empty: bool = True) -> Any:
    """The batch in front, dimensions counted from the second on.

    `more`: how many dimensions the result has more than the sample; `empty`: whether no dimensions stand for all.
    """
    parameters = call.op.schema.parameters
    ranks = call.ranks()
    sizes = next((i for i, p in enumerate(parameters) if p.name in SIZES and "[" in p.type), None)
    rank = max(ranks) + more if sizes is None else len(call.args[sizes])
    along = any(p.name in DIMS for p in parameters)
    if along and len(ranks) > 1 and 0 in ranks:
        return loop(call)
    lift = along and rank == 0
    args = call.every(lambda t, batched: _in_front(t, batched, call.size, lift))
    for i, parameter in enumerate(parameters):
        if i == sizes:
            args[i] = (call.size, *args[i])
        elif parameter.name in DIMS and (empty or args[i] != ()):
            args[i] = shifted(args[i], max(rank, lift))
    result = dispatch.run(call.op, tuple(args))
    return dropped(result) if lift else result


def _in_front(tensor: Tensor, batched: bool, size: int, lift: bool) -> Tensor:
    full = expanded(tensor, batched, size)
    return reshaped(full, (size, 1)) if lift else full


def shifted(dim: Any, rank: int) -> Any:
    """Dimensions of a sample as dimensions of the batch."""
    if isinstance(dim, int):
        return dims.wrap(dim, rank) + 1
    return tuple(range(1, rank + 1)) if not dim else tuple(d + 1 for d in dims.wrap_all(dim, rank))


def dropped(result: Any) -> Any:
    """Results that one dimension was added to, without it."""
    if isinstance(result, Tensor):
        return reshaped(result, result._ag_raw.shape[:1]) if result._ag_raw.ndim > 1 else result
    return tuple(map(dropped, result))


def folded(call: Call) -> Any:
    """The batch made part of the first dimension, along which the operation computes each for itself."""
    args = call.every(lambda t, batched: first_two(expanded(t, batched, call.size)))
    names = [p.name for p in call.op.schema.parameters]
    if "input_size" in names:
        n, *rest = call["input_size"]
        args[names.index("input_size")] = (n * call.size, *rest)
    return apart(dispatch.run(call.op, tuple(args)), call.size)


def first_two(x: Tensor) -> Tensor:
    """(B, N, ...) as (B * N, ...)."""
    shape = x._ag_raw.shape
    return reshaped(x, (shape[0] * shape[1], *shape[2:]))


def apart(result: Any, size: int) -> Any:
    """(B * N, ...) as (B, N, ...), in all results."""
    if result is None:
        return None
    if isinstance(result, Tensor):
        shape = result._ag_raw.shape
        return reshaped(result, (size, shape[0] // max(size, 1), *shape[1:]))
    return tuple(apart(r, size) for r in result)


def loop(call: Call) -> Any:
    """Sample by sample, and stacked; RuntimeError where there is none."""
    if not call.size:
        raise RuntimeError(f"vmap: {call.op.name} goes sample by sample, and a batch of size 0 has none")
    rows = [dispatch.run(call.op, tuple(sample(call, i))) for i in range(call.size)]
    if not call.op.multiple:
        return f.stack(rows, 0)
    return tuple(None if column[0] is None else f.stack(list(column), 0) for column in zip(*rows, strict=True))


def sample(call: Call, index: int) -> list[Any]:
    """The arguments of one sample."""
    return call.every(lambda t, batched: f.select(t, 0, index) if batched else t)


def elementwise(run: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A function of arrays element by element, without a derivative, that takes batched tensors too."""

    @functools.wraps(run)
    def lifted(*args: Any) -> Tensor:
        level = top_level(args) if thread_state.levels else None
        if level is None:
            return run(*args)
        if not isinstance(level, BatchLevel):
            return lifted(*(x._ag_inner if isinstance(x, Wrapped) and x._ag_level is level else x for x in args))
        pairs = [value_of(level, x) for x in args]
        rank = max(x._ag_raw.ndim - mark for x, mark in pairs if isinstance(x, Tensor))
        return batched(level, lifted(*(raised(x, mark, rank) if mark else x for x, mark in pairs)), 0)

    return lifted


# ---------------------------------------------------------------- the interpreter


def run(call: Call) -> Any:
    """The operation's results, all with the batch in front."""
    found = call.op.batch
    if found is None:
        found = pointwise if call.op.pointwise else loop
    return found(call)


@interprets(BatchLevel, "run")
def batch(level: BatchLevel, op: Operation, args: tuple[Any, ...]) -> Any:
    """The result of `op` for each sample, as batched tensors."""
    return wrapped(level, run(opened(level, op, args)))


def opened(level: BatchLevel, op: Operation, args: tuple[Any, ...]) -> Call:
    """The call with what is batched at `level` unwrapped."""
    values: list[Any] = list(args)
    marks: list[bool | tuple[bool, ...]] = [False] * len(args)
    for i, parameter in op.positions:
        if parameter.is_list:
            pairs = [value_of(level, t) for t in args[i]]
            values[i] = [t for t, _ in pairs]
            marks[i] = tuple(m for _, m in pairs)
        else:
            values[i], marks[i] = value_of(level, args[i])
    return Call(op, values, marks, level.size)


def value_of(level: BatchLevel, x: Any) -> tuple[Any, bool]:
    """The value of a tensor with the batch in front, and whether it has one."""
    if not isinstance(x, Batched) or x._ag_level is not level:
        return x, False
    return (x._ag_value if not x._ag_bdim else x._ag_value.movedim(x._ag_bdim, 0)), True


def wrapped(level: BatchLevel, result: Any) -> Any:
    """Results with the batch in front as batched tensors."""
    if result is None:
        return None
    if isinstance(result, Tensor):
        return batched(level, result, 0)
    return tuple(wrapped(level, r) for r in result)


@interprets(BatchLevel, "inplace")
def batch_inplace(level: BatchLevel, op: Operation, args: tuple[Any, ...]) -> Tensor:
    """The result of `op` for each sample put into the first argument; RuntimeError if that one is shared by all
    samples."""
    target: Tensor = args[0]
    call = opened(level, op, args)
    if not call.marks[0]:
        raise RuntimeError(refusal(op, target, zip(call.args, call.marks, strict=True)))
    value: Tensor = call.args[0]
    if op.pointwise and op.batch is None:
        shapes = [sample_shape(t, m) for t, m in zip(call.args, call.marks, strict=True) if isinstance(t, Tensor)]
        _check_fits(value, dims.broadcast(*shapes))
        run_inplace(op, (value, *aligned(call)[1:]))
        return target
    if op.overwrites:
        source = raised(call.args[1], bool(call.marks[1]), value._ag_raw.ndim - 1)
    else:
        keeps = "self" in op.saved_names and value.requires_grad
        call.args[0] = f.clone(value) if keeps else value
        source = run(call)
        _check_fits(value, source._ag_raw.shape[1:])
    run_inplace(table["copy"], (value, source))
    return target


def _check_fits(value: Tensor, shape: tuple[int, ...]) -> None:
    """PyTorch's error for a result whose samples have another shape than those of the tensor that it is for."""
    size, *have = value._ag_raw.shape
    if list(shape) != have:
        raise RuntimeError(f"output with shape {[size, *have]} doesn't match the broadcast shape {[size, *shape]}")


def refusal(op: Operation, target: Tensor, others: Iterable[tuple[Any, Any]]) -> str:
    """PyTorch's sentence for a tensor that all samples share and that each would change in its own way."""
    if op.vmap_inplace == "broadcast":
        marked = [x._ag_raw.shape for x, mark in others if mark]
        shape = (marked[0][0], *dims.broadcast(target._ag_raw.shape, *(sizes[1:] for sizes in marked)))
        return f"output with shape {list(target._ag_raw.shape)} doesn't match the broadcast shape {list(shape)}"
    name = op.vmap_inplace or f"aten::{op.name.rstrip('_')}_"
    return (
        f"vmap: {name}(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args that has "
        "more elements than `self`. This happened due to `other` being vmapped over but `self` not being vmapped over "
        f"in a vmap. Please try to use out-of-place operators instead of {name}. If said operator is being called "
        "inside the PyTorch framework, please file a bug report instead."
    )

"""`torch._foreach_*`: one function on each tensor of a list, which optimizers and averages of parameters use."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..._core.base.dtypes import numpy_dtype
from ..._core.base.errors import refused
from ..._core.base.op_namespace import table
from ..._core.base.state import thread_state
from ..._core.operations.registry import functions, methods
from ..._core.running.inplace import run_inplace
from ..._core.tape.tensor import Tensor, make
from .foreach_nodes import overload_of, recorded

_OF_ONE = (
    "abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal round "
    "rsqrt sigmoid sign sin sinh sqrt tan tanh trunc"
)
_OF_SEVERAL = "add addcdiv addcmul clamp_max clamp_min div lerp mul pow sub"


def _per_tensor(name: str, count: int, argument: Any, listed: str) -> list[Any]:
    """An argument for each tensor: one of a list, or the same for all."""
    if not isinstance(argument, (tuple, list)) and not (listed == "scalars" and isinstance(argument, Tensor)):
        if isinstance(argument, Tensor) and argument.ndim:
            raise RuntimeError(
                f"scalar tensor expected to be 0 dim but it has {argument.ndim} dimensions and {argument.numel()} "
                "elements."
            )
        return [argument] * count
    values = argument.tolist() if isinstance(argument, Tensor) else list(argument)
    if len(values) != count and all(isinstance(x, Tensor) for x in values):
        raise RuntimeError(f"Tensor lists must have the same number of tensors, got {count} and {len(values)}")
    if len(values) != count:
        raise RuntimeError("Tensor list must have same number of elements as scalar list.")
    return values


def _each(name: str, run: Callable[..., Any], in_place: bool) -> Callable[..., Any]:
    """`run` on each tensor of a list, with the other arguments' part for it."""
    public = f"_foreach_{name}"

    def foreach(self: Any, *args: Any, **options: Any) -> Any:
        swapped = name == "pow" and not isinstance(self, (tuple, list)) and args and isinstance(args[0], (tuple, list))
        lists: tuple[Any, ...] = (args[0], self, *args[1:]) if swapped else (self, *args)
        calls = _calls(name, public, lists, options)
        given = (*lists, *[x for key, x in options.items() if key not in ("alpha", "ord", "dtype")])
        if thread_state.grad and _asks(given):
            if in_place and _has_no_node(name, given):
                raise _refused(public, name)
            if not (in_place or thread_state.wrapping or thread_state.autocast or thread_state.watcher):
                return _with_one_node(name, public, given, calls, bool(swapped))
        made = []
        for tensor, rest, named in calls:
            other = _another(name.rstrip("_"), rest, named) if in_place else None
            if other:
                made.append(run_inplace(other, other.bind(tensor, rest[0])))
            else:
                made.append(run(rest[0], tensor) if swapped else run(tensor, *rest, **named))
        return self if in_place else tuple(made)

    foreach.__name__ = foreach.__qualname__ = public
    foreach.__doc__ = f"`torch.{name}` on each tensor of a list."
    return foreach


def _calls(name: str, public: str, lists: tuple[Any, ...], options: dict[str, Any]) -> list[Any]:
    """For each tensor: itself, the arguments behind it, and those by name."""
    tensors = lists[0]
    if not isinstance(tensors, (tuple, list)) or not all(isinstance(t, Tensor) for t in tensors):
        raise refused(
            TypeError,
            f"{public}(): argument 'self' (position 1) must be tuple of Tensors, not {type(lists[-1]).__name__}",
        )
    if not tensors:
        raise RuntimeError("Tensor list must have at least one tensor.")
    count = len(tensors)
    columns = [_per_tensor(public, count, x, _listed(name, i)) for i, x in enumerate(lists[1:])]
    others = {k: [x] * count if k == "ord" else _per_tensor(public, count, x, k) for k, x in options.items()}
    calls = []
    for position, tensor in enumerate(tensors):
        rest, named = [c[position] for c in columns], {_NAMES.get(k, k): c[position] for k, c in others.items()}
        if name.startswith(("addcdiv", "addcmul")) and len(rest) > 2:
            named["value"] = rest.pop()
        if name in ("norm", "powsum") and len(rest) > 1:
            named["dtype"] = rest.pop()
        calls.append((tensor, rest, named))
    return calls


def _refused(public: str, name: str) -> NotImplementedError:
    return NotImplementedError(
        f"torch.{public} of tensors that require a gradient, with these arguments, is not available in autograph's "
        f"engine: use torch.no_grad, or torch.{name.rstrip('_')} on each"
    )


def _with_one_node(
    name: str, public: str, given: tuple[Any, ...], calls: list[Any], swapped: bool
) -> tuple[Tensor, ...]:
    """The results with the node that PyTorch has for all of them."""
    others = given[1:]
    numbers = others[2:] or [1] if name in ("addcmul", "addcdiv") else others
    kind = _kind(numbers[-1]) if name in _OF_SEVERAL.split() or name in ("maximum", "minimum") else ""
    beside = [x for x in others if isinstance(x, Tensor)]
    if name == "powsum" or (kind == "Tensor" and name.startswith("addc")) or any(x.requires_grad for x in beside):
        raise _refused(public, name)
    if swapped:
        kind = "ScalarAndTensor"
    if kind == "Tensor" and name in ("add", "sub"):
        kind = "Scalar"
        calls = [(tensor, [x.item() for x in rest], named) for tensor, rest, named in calls]
    overload = overload_of(name, kind, sum(isinstance(x, (tuple, list)) and isinstance(x[0], Tensor) for x in given))
    rows = []
    for tensor, rest, named in calls:
        if name in ("maximum", "minimum") and kind != "List":
            rest = [make(tensor._ag_raw.dtype.type(rest[0]))]
        if "dtype" in named:
            named["dtype"] = numpy_dtype(named["dtype"])
        row = (rest[0], tensor) if swapped else (tensor, *rest)
        rows.append(overload.op.bind(*row, **named))
    return tuple(recorded(name, overload, rows, given))


def _kind(x: Any) -> str:
    """PyTorch's name for the overload, by what stands beside the list."""
    if isinstance(x, (tuple, list)):
        return "List" if isinstance(x[0], Tensor) else "ScalarList"
    return "Tensor" if isinstance(x, Tensor) else "Scalar"


def _listed(name: str, position: int) -> str:
    """Return what an argument behind the list is: those of `addcmul` and `addcdiv` end with a number for each."""
    return "scalars" if name.startswith(("addcdiv", "addcmul")) and position == 2 else "scalar"


def _asks(lists: tuple[Any, ...]) -> bool:
    """Return whether a tensor among these or in their lists requires a gradient."""
    items = [t for x in lists for t in (x if isinstance(x, (tuple, list)) else (x,))]
    return any(t.requires_grad for t in items if isinstance(t, Tensor))


def _has_no_node(name: str, lists: tuple[Any, ...]) -> bool:
    """Return whether an in-place function has no derivative in PyTorch: copies, numbers for each in a tensor, and the
    larger or the smaller of a tensor and a number."""
    if name in ("maximum_", "minimum_"):
        return not isinstance(lists[1], (tuple, list)) or not all(isinstance(t, Tensor) for t in lists[1])
    return name == "copy_" or (len(lists) > 3 and isinstance(lists[3], Tensor))


def _another(name: str, rest: list[Any], named: dict[str, Any]) -> Any:
    """The operation that is meant where it is not that of the name: of a tensor and a number, which leaves a node of
    its own here, or the larger or the smaller of two tensors."""
    if len(rest) == 1 and name in ("maximum", "minimum") and isinstance(rest[0], Tensor):
        return table[name]
    if len(rest) != 1 or named or name not in ("add", "sub", "mul", "div"):
        return None
    if name in ("add", "sub") and isinstance(rest[0], Tensor) and not rest[0].ndim and not rest[0].requires_grad:
        rest[0] = rest[0].item()
    return None if isinstance(rest[0], Tensor) else table[f"{name}_Scalar"]


_NAMES = {"scalars": "value", "scalar": "other", "tensors": "other"}


def _define(name: str, run: Callable[..., Any], in_place: bool = False) -> None:
    functions[f"_foreach_{name}"] = _each(name, run, in_place)


for _name in f"{_OF_ONE} {_OF_SEVERAL}".split():
    _define(_name, functions[_name])
    _define(f"{_name}_", methods[f"{_name}_"], in_place=True)
for _name, _run in (("maximum", "clamp_min"), ("minimum", "clamp_max")):  # which take numbers too
    _define(_name, functions[_run])
    _define(f"{_name}_", methods[f"{_run}_"], in_place=True)
_define("clone", functions["clone"])
_define("mm", functions["mm"])
_define("max", functions["max"])
_define("zero_", methods["zero_"], in_place=True)
_define("copy_", methods["copy_"], in_place=True)


def _norm(tensor: Tensor, ord: Any = 2, dtype: Any = None) -> Any:
    return functions["norm"](tensor, ord, dtype=dtype)


_define("norm", functools.wraps(_norm)(_norm))
_define(
    "powsum",
    lambda tensor, ord=2, dtype=None: functions["sum"](functions["pow"](functions["abs"](tensor), ord), dtype=dtype),
)

"""`torch.library`: operators of one's own in Python, with rules for derivatives, batches and tensors without memory."""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from . import ops
from ._arrays.storages import owner
from ._core.base.state import thread_state
from ._core.running.views import bump
from ._core.tape.tensor import Tensor, materialize
from ._core.transforms.interpreter_stack import BatchLevel, below
from ._core.transforms.transforms import Batched, top_level
from ._core.transforms.vmap_fallback import per_sample
from ._infer_schema import infer_schema
from .autograd.batched_function import VmapInfo, wrapped_outputs
from .autograd.function import Function
from .autograd.grad_mode import no_grad

__all__ = [
    "CustomOpDef", "custom_op", "infer_schema", "register_autograd", "register_fake", "register_kernel",
    "register_vmap",
]  # fmt: skip

_DEFINED: dict[str, CustomOpDef] = {}


class CustomOpDef:
    """An operator that calls a Python function; autograd sees one node, whatever the function does."""

    def __init__(self, name: str, fn: Callable[..., Any], schema: str, device_types: Any = None) -> None:
        self._name, self._schema, self._signature = name, schema, inspect.signature(fn)
        self._mutated = re.findall(r"!\)\S* (\w+)", schema)
        self._kernel = fn if _on_cpu(device_types) else None
        self._fake: Callable[..., Any] | None = None
        self._vmap: Callable[..., Any] | None = None
        self._backward: Callable[..., Any] | None = None
        self._setup: Callable[..., Any] | None = None
        self._function = _function(self)
        self._each_example = per_sample(self.__call__)

    @property
    def default(self) -> CustomOpDef:
        """The only overload of this operator."""
        return self

    @property
    def _qualname(self) -> str:
        return self._name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise RuntimeError(f"{self._name}(): {error}. Declaration: {self._name}{self._schema}") from None
        bound.apply_defaults()
        level = top_level(tuple(_flat(bound.arguments.values()))) if thread_state.levels else None
        if isinstance(level, BatchLevel):
            return self._batched(level, bound)
        if self._mutated:
            return self._changing(bound)
        tensors = tuple(_flat(bound.arguments.values()))
        return self._function.apply(bound, *tensors)

    def _batched(self, level: BatchLevel, bound: inspect.BoundArguments) -> Any:
        if self._vmap is None:
            warnings.warn(
                "There is a performance drop because we have not yet implemented the batching rule for "
                f"{self._name}: it runs example by example. Give it one with register_vmap.",
                stacklevel=3,
            )
            return self._each_example(*bound.args, **bound.kwargs)
        with below(level):
            dims = tuple(_mapped(x, lambda t: t._ag_bdim if _is_of(level, t) else None) for x in bound.args)
            args = [_mapped(x, lambda t: t._ag_value if _is_of(level, t) else t) for x in bound.args]
            kwargs = {k: _mapped(x, lambda t: t._ag_value if _is_of(level, t) else t) for k, x in bound.kwargs.items()}
            found = self._vmap(VmapInfo(level.size, level.randomness), dims, *args, **kwargs)
            return wrapped_outputs(level, found)

    def _changing(self, bound: inspect.BoundArguments) -> Any:
        """Call an operator that changes its arguments: their versions count it, autograd does not see it."""
        with no_grad():
            result = self._run(bound)
        for x in _flat(bound.arguments[name] for name in self._mutated):
            bump(x)
        return result

    def _run(self, bound: inspect.BoundArguments) -> Any:
        """Return what the function gives; for tensors without memory, the fake one. RuntimeError if results share
        memory."""
        given = list(_flat(bound.arguments.values()))
        if any(x.is_meta for x in given):
            if self._fake is None:
                raise RuntimeError(
                    f"There was no fake impl registered for {self}. This is necessary for torch.compile/export/fx "
                    f"tracing to work. Please use `{self._name.rpartition(':')[2]}.register_fake` to add an fake impl."
                )
            return self._fake(*bound.args, **bound.kwargs)
        if self._kernel is None:
            raise NotImplementedError(f"Could not run '{self._name}' with arguments from the 'CPU' backend.")
        result = self._kernel(*bound.args, **bound.kwargs)
        memory = {id(owner(materialize(x))) for x in given}
        for x in _flat((result,)):
            if id(own := owner(materialize(x))) in memory:
                raise RuntimeError(
                    f"{self._name}: The output of this custom operator (1) must not also be an input to this custom "
                    "operator and (2) may not alias any inputs to this custom operator or other returns. Please "
                    "instead return a clone of the offending output tensor(s) (e.g. return x.clone()) or refactor the "
                    "custom operator to not return y."
                )
            memory.add(id(own))
        return result

    def register_autograd(self, backward: Callable[..., Any], /, *, setup_context: Any = None) -> None:
        """`backward(ctx, *grads)` gives the gradients of the inputs; `setup_context(ctx, inputs, output)` saves for it.

        RuntimeError for an operator that changes its arguments.
        """
        if self._mutated:
            raise RuntimeError(
                f"Cannot register autograd formula for non-functional operator {self} with schema "
                f"{self._name}{self._schema}. Please create a functional operator and register an autograd formula "
                "for that."
            )
        self._backward, self._setup = backward, setup_context

    def register_fake(self, fn: Callable[..., Any], /) -> Callable[..., Any]:
        """`fn(*args)` gives the outputs for tensors without memory (device `meta`): their shapes and dtypes."""
        self._fake = fn
        return fn

    def register_vmap(self, func: Callable[..., Any] | None = None) -> Any:
        """`func(info, in_dims, *args)` gives (outputs, their batch dimensions) for a whole batch.

        Without `func` it is a decorator. `info` has `batch_size` and `randomness`; `in_dims` has, for each argument,
        its batch dimension or None.
        """
        if func is None:
            return self.register_vmap
        self._vmap = func
        return None

    def register_kernel(self, device_types: Any, fn: Callable[..., Any] | None = None, /) -> Any:
        """`fn` computes the operator on devices of these types, of which there is "cpu"; without `fn`, a decorator."""
        if fn is None:
            return lambda given: self.register_kernel(device_types, given)
        if _on_cpu(device_types):
            self._kernel = fn
        return fn

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._name})>"


def _is_of(level: BatchLevel, x: Any) -> bool:
    return isinstance(x, Batched) and x._ag_level is level


def _on_cpu(device_types: Any) -> bool:
    return device_types is None or "cpu" in ([device_types] if isinstance(device_types, str) else device_types)


def _flat(values: Any) -> Iterator[Tensor]:
    """The tensors among arguments, and those in lists among them."""
    for x in values:
        if isinstance(x, Tensor):
            yield x
        elif isinstance(x, (list, tuple)):
            yield from _flat(x)


def _mapped(x: Any, change: Callable[[Any], Any]) -> Any:
    """An argument with each tensor changed; what is neither tensor nor list is given as it is to `change` too."""
    return [_mapped(one, change) for one in x] if isinstance(x, (list, tuple)) else change(x)


def _replaced(bound: inspect.BoundArguments, tensors: Iterator[Tensor]) -> inspect.BoundArguments:
    """The same call with other tensors."""
    arguments = {
        name: _mapped(x, lambda one: next(tensors) if isinstance(one, Tensor) else one)
        for name, x in bound.arguments.items()
    }
    return inspect.BoundArguments(bound.signature, arguments)


def _function(op: CustomOpDef) -> type[Function]:
    full = op._name.replace("::", ".") + ".default"

    def forward(ctx: Any, bound: inspect.BoundArguments, *tensors: Tensor) -> Any:
        call = _replaced(bound, iter(tensors))
        output = op._run(call)
        ctx.tensor_counts = tuple(map(_count, call.args))
        ctx.others = len(list(_flat(call.kwargs.values())))
        if op._setup is not None:
            by_name = {"keyword_only_inputs": call.kwargs} if call.kwargs else {}
            op._setup(ctx=ctx, inputs=call.args, output=output, **by_name)
        return output

    def backward(ctx: Any, *grads: Any) -> Any:
        if op._backward is None:
            raise RuntimeError(
                f"Trying to backward through {full} but no autograd formula was registered. "
                "Please use register_autograd to add one."
            )
        found = op._backward(ctx, *grads)
        found = found if isinstance(found, tuple) else (found,)
        return None, *_by_tensor(type(ctx).__name__, found, ctx.tensor_counts), *[None] * ctx.others

    members = {"forward": staticmethod(forward), "backward": staticmethod(backward), "_op_name": op._name}
    return type(f"GeneratedBackwardFor_{full.replace('.', '_')}", (Function,), members | {"__module__": __name__})


def _count(x: Any) -> int | None:
    """Return how many tensors a list has; -1 for a tensor, None for what is neither."""
    tensors = len(list(_flat((x,))))
    return -1 if isinstance(x, Tensor) else tensors or None


def _by_tensor(name: str, grads: tuple[Any, ...], counts: tuple[int | None, ...]) -> Iterator[Any]:
    """The gradient of each tensor, out of one for each argument; RuntimeError where their number does not fit."""
    if len(grads) < len(counts):
        raise RuntimeError(
            f"function {name} returned an incorrect number of gradients (expected {len(counts)}, got {len(grads)})"
        )
    for number, grad in enumerate(grads):
        count = counts[number] if number < len(counts) else None
        if count is None:
            if grad is not None:
                raise RuntimeError(
                    f"function {name} returned a gradient different than None at position {number + 1}, but the "
                    "corresponding forward input was not a Variable"
                )
        elif count < 0:
            yield grad
        else:
            yield from [None] * count if grad is None else grad


def custom_op(
    name: str,
    fn: Callable[..., Any] | None = None,
    /,
    *,
    mutates_args: Any,
    device_types: Any = None,
    schema: str | None = None,
    tags: Any = None,
) -> Any:
    """A function as the operator `namespace::name`, also `torch.ops.namespace.name`; without `fn`, a decorator.

    `mutates_args` names the arguments that it changes. The annotations of `fn` say its schema, unless `schema` does;
    ValueError if they do not, or for a name without a namespace. `tags` are for compilers, of which there is none here.

    >>> from autograph_cli import torch
    >>> @torch.library.custom_op("docs::twice", mutates_args=())
    ... def twice(x: torch.Tensor) -> torch.Tensor:
    ...     return x * 2
    >>> torch.ops.docs.twice(torch.ones(2))
    tensor([2., 2.])
    """
    if fn is None:
        return lambda given: custom_op(
            name, given, mutates_args=mutates_args, device_types=device_types, schema=schema, tags=tags
        )
    namespace, _, last = name.partition("::")
    if not (namespace.isidentifier() and last.isidentifier()):
        raise ValueError(f"torch.library.custom_op: expected a name like 'namespace::name', got {name!r}")
    written = schema or infer_schema(fn, mutates_args=mutates_args)
    result = _DEFINED[name] = CustomOpDef(name, fn, written, device_types)
    space = vars(ops).setdefault(namespace, ModuleType(f"torch.ops.{namespace}"))
    setattr(space, last, result)
    return result


def _defined(op: Any) -> CustomOpDef:
    if isinstance(op, CustomOpDef):
        return op
    if op not in _DEFINED:
        raise RuntimeError(f"operator {op} does not exist; define it with torch.library.custom_op")
    return _DEFINED[op]


def register_autograd(op: Any, backward: Callable[..., Any], /, *, setup_context: Any = None, lib: Any = None) -> None:
    """`CustomOpDef.register_autograd` of an operator or of its name."""
    _defined(op).register_autograd(backward, setup_context=setup_context)


def register_fake(op: Any, func: Any = None, /, *, lib: Any = None, allow_override: bool = True) -> Any:
    """`CustomOpDef.register_fake` of an operator or of its name; without `func`, a decorator."""
    found = _defined(op)
    return found.register_fake if func is None else found.register_fake(func)


def register_vmap(op: Any, func: Any = None, /, *, lib: Any = None) -> Any:
    """`CustomOpDef.register_vmap` of an operator or of its name; without `func`, a decorator."""
    return _defined(op).register_vmap(func)


def register_kernel(op: Any, device_types: Any, func: Any = None, /, *, lib: Any = None) -> Any:
    """`CustomOpDef.register_kernel` of an operator or of its name; without `func`, a decorator."""
    return _defined(op).register_kernel(device_types, func)

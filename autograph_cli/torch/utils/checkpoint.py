"""Checkpoints trade time for memory: what backward needs of a function is computed again, not kept.

Without reentry (`use_reentrant=False`) the graph is the function's own, and placeholders are saved in it; the first one
that backward opens has the function run again. With reentry the graph has one `CheckpointFunction` node instead.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from .._core.base.errors import refused
from .._core.base.state import thread_state
from .._core.base.user_warnings import warn
from .._core.tape.node import edge_of
from .._core.tape.saved_tensors import Packed, given_back, origin, taken_over, version_error
from .._core.tape.tensor import Tensor
from .._ops.random_numbers.generators import get_rng_state, set_rng_state
from ..amp.autocast_mode import autocast, get_autocast_dtype, is_autocast_cache_enabled, is_autocast_enabled
from ..autograd import Function, backward
from ..autograd.grad_mode import enable_grad, no_grad
from ..autograd.graph import saved_tensors_hooks
from ._selective import CheckpointPolicy, Log, SelectiveCheckpointContext, create_selective_checkpoint_contexts, report

__all__ = [
    "CheckpointError", "CheckpointFunction", "CheckpointPolicy", "SelectiveCheckpointContext",
    "check_backward_validity", "checkpoint", "checkpoint_sequential", "create_selective_checkpoint_contexts",
    "detach_variable", "noop_context_fn", "set_checkpoint_debug_enabled", "set_checkpoint_early_stop",
]  # fmt: skip


class CheckpointError(RuntimeError):
    """The second run of a function did not save what the first one did."""


def noop_context_fn() -> tuple[Any, Any]:
    """The contexts of the two runs unless told: none."""
    return contextlib.nullcontext(), contextlib.nullcontext()


_early_stop: bool | None = None
_debug: bool | None = None


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """Inside the block: whether checkpoints tell what ran in them when they fail; None leaves it to their `debug`."""
    global _debug
    before, _debug = _debug, enabled
    try:
        yield
    finally:
        _debug = before


@contextlib.contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Inside the block: whether the second run ends as soon as all that is needed is there."""
    global _early_stop
    before, _early_stop = _early_stop, enable
    try:
        yield
    finally:
        _early_stop = before


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], tuple[Any, Any]] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """Call `function`, which runs once more when backward comes to it, instead of keeping what it saves.

    Raises `CheckpointError` in backward when the second run saves other tensors than the first.

    >>> from autograph_cli import torch
    >>> from autograph_cli.torch.utils.checkpoint import checkpoint
    >>> x = torch.tensor(0.5, requires_grad=True)
    >>> checkpoint(lambda x: x.exp().sin(), x, use_reentrant=False).backward()
    >>> x.grad
    tensor(-0.1283)
    """
    if use_reentrant is None:
        _warn_reentrant(
            "torch.utils.checkpoint",
            "Starting in PyTorch 2.9, calling checkpoint without use_reentrant will raise an exception.",
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs and use_reentrant:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if not use_reentrant:
        if debug if _debug is None else _debug:
            if context_fn is not noop_context_fn:
                raise ValueError("debug=True is incompatible with non-default context_fn")
            return _logged(function, args, kwargs, preserve, determinism_check, early_stop)
        return _checkpoint(function, args, kwargs, preserve, context_fn, determinism_check, early_stop)
    if context_fn is not noop_context_fn or debug is not False:
        raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
    return CheckpointFunction.apply(function, preserve, *args)


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """Run functions one after the other, in so many segments, each but the last of which is a checkpoint."""
    if use_reentrant is None:
        _warn_reentrant(
            "torch.utils.checkpoint.checkpoint_sequential",
            "In version 2.9 we will raise an exception if use_reentrant is not passed.",
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    functions = list(functions.children()) if hasattr(functions, "children") else list(functions)
    size = len(functions) // segments

    def run(part: list[Any], x: Any) -> Any:
        for function in part:
            x = function(x)
        return x

    for i in range(segments - 1):
        part = functions[i * size : (i + 1) * size]
        input = checkpoint(
            lambda x, part=part: run(part, x), input, use_reentrant=use_reentrant, preserve_rng_state=preserve
        )
    return run(functions[(segments - 1) * size :], input)


def _warn_reentrant(what: str, when: str) -> None:
    warn(
        f"{what}: the use_reentrant parameter should be passed explicitly. {when} use_reentrant=False is recommended, "
        "but if you need to preserve the current default behavior, you can pass use_reentrant=True. Refer to docs for "
        "more details on the differences between the two variants."
    )


@contextlib.contextmanager
def _random_numbers_of(state: Any) -> Iterator[None]:
    """Inside the block, the random numbers that follow this state of the generator; as before afterwards."""
    if state is None:
        yield
        return
    before = get_rng_state()
    set_rng_state(state)
    try:
        yield
    finally:
        set_rng_state(before)


def _autocast_now() -> Callable[[], autocast]:
    """A region with what autocast is set to at present, to be entered later."""
    kept: dict[str, Any] = {
        "enabled": is_autocast_enabled("cpu"),
        "dtype": get_autocast_dtype("cpu"),
        "cache_enabled": is_autocast_cache_enabled(),
    }
    return lambda: autocast("cpu", **kept)


# ---------------------------------------------------------------- without reentry


class _Holder:
    """Stands in the graph for a saved tensor: the one at this position among all."""

    __slots__ = ("__weakref__", "position")

    def __init__(self, position: int) -> None:
        self.position = position


class _Enough(Exception):
    """Ends a second run that has made all that is needed."""


@contextlib.contextmanager
def _recomputing() -> Iterator[None]:
    """Within the block, a forward runs once more."""
    before, thread_state.recomputing = thread_state.recomputing, True
    try:
        yield
    finally:
        thread_state.recomputing = before


class _Frame:
    """One checkpointed call: how to run it again, what it saved at first, what came of later runs."""

    def __init__(
        self,
        again: Callable[[], Any],
        check: bool,
        early_stop: bool,
        told: Callable[[CheckpointError], CheckpointError],
    ) -> None:
        self.told = told
        self.again = again
        self.check = check
        self.early_stop = early_stop
        self.holders: list[weakref.ref[_Holder]] = []
        self.kinds: list[dict[str, Any]] = []
        self.found: weakref.WeakKeyDictionary[Any, dict[int, Tensor]] = weakref.WeakKeyDictionary()
        """By backward pass: what the second run of that pass saved and nobody has taken yet."""

    def pack(self, tensor: Tensor) -> _Holder:
        holder = _Holder(len(self.holders))
        self.holders.append(weakref.ref(holder))
        self.kinds.append(_kind(tensor))
        return holder

    def unpack(self, holder: _Holder) -> Tensor:
        walk = thread_state.walk
        found = self.found.get(walk) if walk is not None else None
        if found is None:
            found = self._run_again()
            if walk is not None:
                self.found[walk] = found
        if holder.position not in found:
            raise CheckpointError(
                "torch.utils.checkpoint: Unpack is being triggered for a tensor that was either never recomputed, or "
                "already unpacked once. If you are calling ctx.saved_tensors in backward, make sure to do so only "
                "once. Otherwise please open an issue with details on your use case."
            )
        return found.pop(holder.position)

    def _run_again(self) -> dict[int, Tensor]:
        result: dict[int, Tensor] = {}
        kinds: list[dict[str, Any]] = []

        def pack(tensor: Tensor) -> Tensor:
            position = len(kinds)
            if position >= len(self.holders) and self.early_stop:
                raise refused(_Enough, "all is made")
            kinds.append(_kind(tensor))
            if position < len(self.holders) and self.holders[position]() is not None:
                result[position] = tensor.detach()
            if self.early_stop and len(kinds) == len(self.holders):
                raise refused(_Enough, "all is made")
            return tensor.detach()

        hooks = saved_tensors_hooks(pack, lambda tensor: tensor)
        with hooks, enable_grad(), _recomputing(), contextlib.suppress(_Enough):
            self.again()
        try:
            self._compare(kinds)
        except CheckpointError as error:
            raise self.told(error) from None
        return result

    def _compare(self, kinds: list[dict[str, Any]]) -> None:
        if len(kinds) != len(self.kinds):
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the original forward and "
                f"recomputation.\nNumber of tensors saved during forward: {len(self.kinds)}\nNumber of tensors saved "
                f"during recomputation: {len(kinds)}."
            )
        if not self.check:
            return
        differ = [
            f"tensor at position {position}:\nsaved metadata: {first}\nrecomputed metadata: {second}\n"
            for position, (first, second) in enumerate(zip(self.kinds, kinds, strict=True))
            if first != second and self.holders[position]() is not None
        ]
        if differ:
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than "
                f"during the forward pass.\n{''.join(differ)}."
            )


def _kind(tensor: Tensor) -> dict[str, Any]:
    return {"shape": tensor.shape, "dtype": tensor.dtype, "device": tensor.device}


def _checkpoint(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    preserve: bool,
    context_fn: Callable[[], tuple[Any, Any]],
    determinism_check: str,
    early_stop: bool,
    told: Callable[[CheckpointError], CheckpointError] = lambda error: error,
) -> Any:
    if determinism_check not in ("default", "none"):
        raise ValueError(f"determinism_check should be one of ['default', 'none'], but got {determinism_check}")
    first, second = context_fn()
    if not thread_state.records:
        return function(*args, **kwargs)
    state, region = get_rng_state() if preserve else None, _autocast_now()
    kept = _kept(args)

    def again() -> None:
        given = kept()
        with _random_numbers_of(state), region(), second:
            function(*given, **kwargs)

    frame = _Frame(again, determinism_check == "default", early_stop if _early_stop is None else _early_stop, told)
    with saved_tensors_hooks(frame.pack, frame.unpack), first:
        return function(*args, **kwargs)


def _kept(args: tuple[Any, ...]) -> Callable[[], tuple[Any, ...]]:
    """Arguments, saved as a node saves tensors: hooks around the checkpoint pack them, changes in place are found."""
    if thread_state.saved_hooks:
        items = [taken_over(x, edge_of(x)) if isinstance(x, Tensor) else x for x in args]
        return lambda: tuple([given_back(x) if isinstance(x, Packed) else x for x in items])
    versions = [(x, x._version) for x in args if isinstance(x, Tensor) and not x.is_inference()]

    def unchanged() -> tuple[Any, ...]:
        for x, expected in versions:
            if x._version != expected:
                raise version_error(x._ag_raw, origin(x), x._version, expected)
        return args

    return unchanged


def _logged(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    preserve: bool,
    determinism_check: str,
    early_stop: bool,
) -> Any:
    """A checkpoint whose errors tell what ran."""
    first, second = Log(), Log()

    def told(error: CheckpointError) -> CheckpointError:
        return CheckpointError(report(first, second, str(error)))

    return _checkpoint(function, args, kwargs, preserve, lambda: (first, second), determinism_check, early_stop, told)


# ---------------------------------------------------------------- with reentry


def detach_variable(inputs: Any) -> tuple[Any, ...]:
    """The same tensors outside the graph, as leaves that ask for a gradient where these do."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}")
    return tuple(x.detach().requires_grad_(x.requires_grad) if isinstance(x, Tensor) else x for x in inputs)


def check_backward_validity(inputs: Any) -> None:
    """Warn where no input asks for a gradient: a reentrant checkpoint then has none to give."""
    if not any(x.requires_grad for x in inputs if isinstance(x, Tensor)):
        warn("None of the inputs have requires_grad=True. Gradients will be None")


class CheckpointFunction(Function):
    """Runs a function without a graph; its backward runs it again with one, and backward through that."""

    @staticmethod
    def forward(ctx: Any, run_function: Callable[..., Any], preserve_rng_state: bool, *args: Any) -> Any:
        check_backward_validity(args)
        ctx.run_function = run_function
        ctx.state, ctx.region = get_rng_state() if preserve_rng_state else None, _autocast_now()
        ctx.positions = [i for i, x in enumerate(args) if isinstance(x, Tensor)]
        ctx.inputs = [None if isinstance(x, Tensor) else x for x in args]
        ctx.save_for_backward(*(args[i] for i in ctx.positions))
        with no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        if thread_state.walk is not None and thread_state.walk.only is not None:
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` "
                "parameter to .backward(). To resolve this error, you can either set use_reentrant=False, or call "
                ".backward() without passing the `inputs` argument."
            )
        inputs = list(ctx.inputs)
        for position, x in zip(ctx.positions, ctx.saved_tensors, strict=True):
            inputs[position] = x
        detached = detach_variable(tuple(inputs))
        with _random_numbers_of(ctx.state), enable_grad(), ctx.region(), _recomputing():
            outputs = ctx.run_function(*detached)
        outputs = (outputs,) if isinstance(outputs, Tensor) else outputs
        pairs = [(y, g) for y, g in zip(outputs, grads, strict=False) if isinstance(y, Tensor) and y.requires_grad]
        if not pairs:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        backward([y for y, _ in pairs], [g for _, g in pairs])
        return (None, None, *(x.grad if isinstance(x, Tensor) else None for x in detached))

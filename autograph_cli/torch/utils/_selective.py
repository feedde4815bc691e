"""Checkpoints that keep what some operations compute, and checkpoints that tell what ran in them."""

from __future__ import annotations

import enum
import traceback
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from .._core.base.state import thread_state
from .._core.operations.operation import Operation
from .._core.running import dispatch
from .._core.tape.tensor import Tensor, counter
from ..autograd.grad_mode import count_special
from ..ops import Overload, overload_of


class CheckpointPolicy(enum.Enum):
    """The choice for the result of an operation: saved, or computed again."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


_KEPT = (
    CheckpointPolicy.MUST_SAVE,
    CheckpointPolicy.PREFER_SAVE,
    CheckpointPolicy.MUST_CPU_OFFLOAD,
    CheckpointPolicy.PREFER_CPU_OFFLOAD,
)


class SelectiveCheckpointContext:
    """The facts that a policy gets beside the operation: is this the second run?"""

    def __init__(self, *, is_recompute: bool, op_output: Any = None) -> None:
        self.is_recompute = is_recompute
        self.op_output = op_output


class Watcher:
    """Stands between operations and their kernels while its block runs; `_ag_inner` is the one that did so before."""

    _ag_inner: Watcher | None = None
    _ag_sees_backward = False
    """True if the formulas of backward run as operations, so that it sees them."""

    def _ag_changed(self, op: Operation, args: tuple[Any, ...]) -> list[Any]:
        """The raw results of `op`, which are then written into its first argument."""
        return (
            dispatch.compute(op, args, in_place=True)
            if self._ag_inner is None
            else self._ag_inner._ag_changed(op, args)
        )

    def _ag_compute(self, op: Operation, args: tuple[Any, ...]) -> list[Any]:
        """The raw results of `op`."""
        return dispatch.compute(op, args) if self._ag_inner is None else self._ag_inner._ag_compute(op, args)

    def _ag_detached(self, tensor: Tensor) -> Any:
        """Return what `tensor.detach()` gives; None if nobody is asked for it."""
        return None if self._ag_inner is None else self._ag_inner._ag_detached(tensor)

    def _ag_made(self, op: Operation, args: tuple[Any, ...], outputs: list[Tensor]) -> None:
        """Told the tensors that were made of the results."""
        if self._ag_inner is not None:
            self._ag_inner._ag_made(op, args, outputs)

    def __enter__(self) -> Watcher:
        self._ag_inner, thread_state.watcher = thread_state.watcher, self
        count_special(1)
        return self

    def __exit__(self, *_: Any) -> None:
        thread_state.watcher = self._ag_inner
        count_special(-1)


# ---------------------------------------------------------------- keeping results


class _Keeping(Watcher):
    """The first run: keeps the results that the policy chooses."""

    def __init__(self, policy: Callable[..., Any], kept: dict[str, list[Any]]) -> None:
        self.policy = policy
        self.kept = kept

    def _ag_made(self, op: Operation, args: tuple[Any, ...], outputs: list[Tensor]) -> None:
        super()._ag_made(op, args, outputs)
        chosen = self.policy(SelectiveCheckpointContext(is_recompute=False, op_output=outputs), overload_of(op), *args)
        if chosen is True or chosen in _KEPT:
            self.kept[op.identifier].append([(t._ag_raw, counter(t), counter(t)[0]) for t in outputs])
        else:
            self.kept[op.identifier].append(None)


USED = "used"
"""The marker of a kept result that was taken."""


class _Reusing(Watcher):
    """The second run: takes the results that were kept, in their order."""

    def __init__(self, kept: dict[str, list[Any]], mutable: bool) -> None:
        self.kept = kept
        self.mutable = mutable
        self.used: dict[str, int] = defaultdict(int)

    def __enter__(self) -> Watcher:
        self.used.clear()
        return super().__enter__()

    def _ag_compute(self, op: Operation, args: tuple[Any, ...]) -> list[Any]:
        position = self.used[op.identifier]
        self.used[op.identifier] += 1
        if position >= len(self.kept[op.identifier]):
            raise RuntimeError(f"{overload_of(op)} encountered during backward, but not found in storage")
        found = self.kept[op.identifier][position]
        if found is None:
            return super()._ag_compute(op, args)
        if found is USED:
            raise RuntimeError(
                "Trying to backward an extra time. You are only allowed to backward once on any region computed under "
                "selective activation checkpoint."
            )
        self.kept[op.identifier][position] = USED
        if not self.mutable and any(versions[0] != before for _, versions, before in found):
            raise RuntimeError("Tensor cached during selective activation checkpoint has been mutated")
        return [raw for raw, _, _ in found]


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Any, allow_cache_entry_mutation: bool = False
) -> tuple[Any, Any]:
    """The contexts of the two runs of a checkpoint that keeps the results which a policy chooses; for its `context_fn`.

    The policy is a list of operations to keep, or a function of (context, operation, *arguments) that returns a
    `CheckpointPolicy`. TypeError for anything else, ValueError for a list of what is no operation.

    >>> import functools
    >>> from autograph_cli import torch
    >>> from autograph_cli.torch.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts
    >>> x = torch.ones(2, 2, requires_grad=True)
    >>> keep = functools.partial(create_selective_checkpoint_contexts, [torch.ops.aten.mm.default])
    >>> checkpoint(lambda x: (x @ x).exp(), x, use_reentrant=False, context_fn=keep).sum().backward()
    """
    if isinstance(policy_fn_or_list, list):
        wrong = next((op for op in policy_fn_or_list if not isinstance(op, Overload)), None)
        if wrong is not None:
            raise ValueError(f"Expected op in `op_list` to be an OpOverload but got: {wrong} of type {type(wrong)}.")
        chosen = tuple(policy_fn_or_list)

        def policy(_: SelectiveCheckpointContext, op: Overload, *args: Any, **kwargs: Any) -> CheckpointPolicy:
            return CheckpointPolicy.MUST_SAVE if op in chosen else CheckpointPolicy.PREFER_RECOMPUTE

    elif callable(policy_fn_or_list):
        policy = policy_fn_or_list
    else:
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    kept: dict[str, list[Any]] = defaultdict(list)
    return _Keeping(policy, kept), _Reusing(kept, allow_cache_entry_mutation)


# ---------------------------------------------------------------- telling what ran


class Log(Watcher):
    """Writes down each operation of a run, and where it was called."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._numbers: dict[int, int] = {}
        self._alive: list[Any] = []

    def _ag_made(self, op: Operation, args: tuple[Any, ...], outputs: list[Tensor]) -> None:
        super()._ag_made(op, args, outputs)
        given = ", ".join(self._name(x) if isinstance(x, Tensor) else repr(x) for x in args)
        results = ", ".join(f"{self._name(t)}: {_kind(t)}" for t in outputs)
        here = "".join(traceback.format_stack(limit=12)[:-3])
        self.lines.append(f"{results} = torch._ops.{overload_of(op)}({given})\n\n{here}")

    def _name(self, tensor: Tensor) -> str:
        if id(tensor) not in self._numbers:
            self._numbers[id(tensor)] = len(self._numbers)
            self._alive.append(tensor)
        return f"${self._numbers[id(tensor)]}"


_SHORT = {"float": "f", "bfloat": "bf", "int": "i", "uint": "u", "complex": "c", "bool": "b"}


def _kind(tensor: Tensor) -> str:
    name = str(tensor.dtype).removeprefix("torch.")
    letters = name.rstrip("0123456789")
    return f"{_SHORT[letters]}{name[len(letters) :] or 8}{list(tensor.shape)}"


def report(first: Log, second: Log, problem: str) -> str:
    """Return what ran at first, what ran when it was computed again, and what was wrong."""
    parts = [
        " An error happened while unpacking tensors; dumping logs of latest computation\nbecause you passed "
        "`debug=True` to `torch.utils.checkpoint.checkpoint()`."
    ]
    for title, name, log in (("original forward", "original", first), ("recomputation", "recompute", second)):
        parts.append(f"Operators that ran in the {title}:")
        parts += [f"{line}  ({i + 1} of {len(log.lines)} in {name})" for i, line in enumerate(log.lines)]
    return "\n\n".join([*parts, f"What was wrong:\n\n{problem}"])

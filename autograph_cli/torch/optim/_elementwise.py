"""Optimizers that treat each element alike: one rule, run on raw arrays or, if the step is to be differentiated, on
tensors.

A rule is a function of the arithmetic `f`, the parameter, its gradient, the state arrays and a tuple of numbers. It
changes the parameter and the state in place, the gradient never. Numbers are worked out once a step and parameter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .._arrays.lazy import resolved
from .._arrays.sparse import Coo
from .._core.base.state import process_state, thread_state
from .._core.operations.registry import functions
from .._core.running.overlapping import may_repeat, rows
from .._core.running.views import bump, changes, check_own_memory
from .._core.tape.tensor import Tensor, counter, make, materialize
from .._kernels.inplace import updates
from ._recorded import recorded
from .optimizer import Optimizer, evaluate

BLOCK = 1 << 15
"""Elements that are updated together: few enough for all arrays of a rule to stay in the processor's cache."""


class Elementwise(Optimizer):
    """The base of optimizers with a rule; see the module's text."""

    kernel = ""
    """The backend's name for a rule that has a kernel of its own there."""
    counts_steps = True
    scalars: dict[str, float] = {}
    """0-d state beside `step`, with what it starts from."""

    @staticmethod
    def rule(f: Any, p: Any, grad: Any, state: tuple[Any, ...], numbers: tuple[Any, ...]) -> None:
        """Change `p` and the arrays of `state`, in the order of `arrays(group)`."""
        raise NotImplementedError

    def arrays(self, group: dict[str, Any]) -> tuple[str, ...]:
        """The names of the state tensors that are shaped like the parameter."""
        raise NotImplementedError

    def numbers(self, group: dict[str, Any], state: dict[str, Any], step: float) -> tuple[Any, ...]:
        """Return what the rule needs beside arrays; changes the `scalars` of the state."""
        raise NotImplementedError

    def writes(self, group: dict[str, Any]) -> int:
        """Return how many in-place operations on the parameter PyTorch counts in a step."""
        return 1

    def fill(self, group: dict[str, Any], name: str, complex_param: bool = False) -> Any:
        """Return what a state array is filled with at first."""
        return 0

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change each parameter that has a gradient; `closure`, if given, computes loss and gradients first.

        Returns the closure's loss.
        """
        before, thread_state.grad = (
            thread_state.grad,
            bool(self.defaults.get("differentiable")) and not thread_state.inference,
        )
        try:
            loss = evaluate(closure)
            for group in self.param_groups:
                self._update_group(group)
        finally:
            thread_state.grad = before
        return loss

    def _update_group(self, group: dict[str, Any]) -> None:
        names = self.arrays(group)
        differentiable = group.get("differentiable")
        if differentiable and group.get("foreach"):
            raise AssertionError("_foreach ops don't support autograd")
        run = self._on_tensors if differentiable else self._on_arrays
        stateless = not (names or self.counts_steps)
        numbers = self.numbers(group, {}, 0.0) if stateless else ()
        arrays: list[Tensor] = []
        for p in group["params"]:
            meta = p._ag_meta
            if meta is None or meta.grad is None:
                continue
            if meta.grad._ag_raw.__class__ is Coo and self.sparse_text is not None:
                raise RuntimeError(self.sparse_text.format(type(self).__name__))
            if not stateless:
                state = self._state_of(p, group, names)
                numbers = self.numbers(group, state, count(state) if self.counts_steps else 0.0)
                arrays = [state[name] for name in names]
            run(group, p, meta.grad, arrays, numbers)

    # -- state

    def _state_of(self, p: Tensor, group: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
        state: dict[str, Any] = self.state[p]
        if not state:
            self.start(p, group, names, state)
        return state

    def start(self, p: Tensor, group: dict[str, Any], names: tuple[str, ...], state: dict[str, Any]) -> None:
        """Make the state of a parameter at its first step."""
        self.check_first(p, group)
        if self.counts_steps:
            start_counting(state, group)
        for name, value in self.scalars.items():
            state[name] = make(_scalar_type(group)(value))
        for name in names:
            state[name] = functions["full_like"](p.detach(), self.fill(group, name, p.dtype.is_complex))

    def check_first(self, p: Tensor, group: dict[str, Any]) -> None:
        """Check a parameter at its first step."""
        if group.get("capturable"):
            raise AssertionError(_CAPTURABLE.format(self.capturable_text))
        if group.get("fused") and not p.dtype.is_floating_point:
            raise RuntimeError(_FUSED.format(p.dtype))

    sparse_text: str | None = "{} does not support sparse gradients"
    """The reason why sparse gradients are refused; None if they are not."""
    capturable_text = "params and state_steps"

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        names = ("step", *self.scalars) if self.counts_steps else ()
        for group in self.param_groups:
            for p in group["params"]:
                known = self.state.get(p, {})
                for name in names:
                    if name in known and not isinstance(known[name], Tensor):
                        known[name] = make(_scalar_type(group)(known[name]))

    def take_rows(self, grad: Coo, group: dict[str, Any]) -> Any:
        """A sparse gradient as an array; RuntimeError where an option rules it out."""
        return grad.dense()

    # -- on arrays and on tensors

    def _on_arrays(self, group: dict[str, Any], p: Tensor, grad: Tensor, state: list[Tensor], numbers: Any) -> None:
        changes(p)
        f = updates(p._ag_raw)
        arrays = (p._ag_raw, grad._ag_raw, *[t._ag_raw for t in state])
        fused = None if f.rules is None else getattr(f.rules, self.kernel, None)
        plain = arrays[0].__class__ is np.ndarray and not group["maximize"]
        if fused is not None and plain and f.rules.fits(arrays):
            fused(f, arrays[0], arrays[1], arrays[2:], numbers)
        else:
            self._by_rule(f, fused, group, p, grad, state, numbers)
        (p._ag_counter or counter(p))[0] += self.writes(group)
        for t in state:
            if t._ag_counter is not None:
                bump(t)

    def _by_rule(
        self, f: Any, fused: Any, group: dict[str, Any], p: Tensor, grad: Tensor, state: list[Tensor], numbers: Any
    ) -> None:
        raw, g = p._ag_raw, grad._ag_raw
        in_order = raw.__class__ is np.ndarray and raw.flags.c_contiguous
        if g.__class__ is not np.ndarray:
            g = resolved(g)
            if g.__class__ is Coo:
                g = self.take_rows(g, group)
        if not in_order:
            check_own_memory(raw)
        if group["maximize"]:
            g = -g
        if raw.dtype == f.dtype and raw.ndim:
            arrays = (raw, g, *[materialize(t) for t in state])
            if fused is not None and f.rules.fits(arrays):
                fused(f, raw, g, arrays[2:], numbers)
                return
            in_parts = (raw.size > 2 * BLOCK and f.xp is np) or (not in_order and may_repeat(raw))
            for part in _blocks(arrays) if in_parts else (arrays,):
                self.rule(f, part[0], part[1], part[2:], numbers)
        else:
            opened = [f.opened(t._ag_raw) for t in (p, *state)]
            self.rule(f, opened[0], f.opened(g), tuple(opened[1:]), numbers)
            for t, changed in zip((p, *state), opened, strict=True):
                t._ag_raw = f.closed(t._ag_raw, changed)

    def _on_tensors(self, group: dict[str, Any], p: Tensor, grad: Tensor, state: list[Tensor], numbers: Any) -> None:
        tensors: list[Any] = [p, -grad if group["maximize"] else grad, *state]
        if p.dtype.is_complex:
            tensors = [functions["view_as_real"](t) for t in tensors]
        self.rule(recorded, tensors[0], tensors[1], tuple(tensors[2:]), numbers)


_CAPTURABLE = "If capturable=True, {} must be on supported devices: ['cuda', 'xpu', 'hpu', 'privateuseone', 'xla']."
_FUSED = (
    "`fused=True` requires all the params to be floating point Tensors of supported devices: ['mps', 'cuda', 'xpu', "
    "'hpu', 'cpu', 'mtia', 'privateuseone'] but {} and cpu"
)


def _blocks(arrays: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """Corresponding pieces of large arrays; all of each where their memory is not in one order."""
    if may_repeat(arrays[0]):
        yield from (tuple([a[at] for a in arrays]) for at in rows(arrays[0]))
        return
    if not all(a.flags.c_contiguous for a in arrays):
        yield arrays
        return
    flat = [a.reshape(-1) for a in arrays]
    for start in range(0, flat[0].size, BLOCK):
        yield tuple([a[start : start + BLOCK] for a in flat])


def _scalar_type(group: dict[str, Any]) -> Any:
    """The type of 0-d state: float64 only where that is the default dtype."""
    wide = process_state.default_dtype == np.float64 and not group.get("fused")
    return np.float64 if wide else np.float32


def start_counting(state: dict[str, Any], group: dict[str, Any] | None = None) -> None:
    """Put a `step` of 0 into the state."""
    state["step"] = make(_scalar_type(group or {})(0))


def count(state: dict[str, Any]) -> float:
    """Count one step in the state; the number reached."""
    steps = state["step"]
    steps._ag_raw = raw = steps._ag_raw.dtype.type(steps._ag_raw + 1)
    if steps._ag_counter is not None:
        bump(steps)
    return float(raw)


def number(x: Any, group: dict[str, Any]) -> Any:
    """An option as a number: a tensor's one element, in its dtype; the tensor itself where the step is
    differentiated."""
    if isinstance(x, Tensor):
        x = x if x.ndim == 0 else x.squeeze()
        return x if group.get("differentiable") else x._ag_raw[()]
    return x

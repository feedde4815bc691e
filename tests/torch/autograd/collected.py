"""Calls of operations, collected from the recorded expressions: real arguments for a check that goes over all operations."""

import functools
import json
import warnings
from pathlib import Path

from autograph_cli import torch
from autograph_cli.torch._arrays.storages import empty_strided
from autograph_cli.torch._core.base.state import process_state, thread_state
from autograph_cli.torch._core.operations.operation import table
from autograph_cli.torch._core.running import dispatch
from autograph_cli.torch._core.running.views import strides_of
from autograph_cli.torch._core.tape.tensor import Tensor, make
from autograph_cli.torch._core.transforms.interpreter_stack import DualLevel
from tests.torch.autograd.layers import LAYERS
from tests.torch.ops import record_expressions

OPS = Path(record_expressions.__file__).parent
AT_MOST = 4
"""Calls that are kept of each operation, with different shapes or plain arguments."""


def is_float(x):
    return isinstance(x, Tensor) and x._ag_raw.dtype.name in ("float32", "float64", "complex64", "complex128")


def copied(x):
    """An argument as it is now, outside the graph."""
    if isinstance(x, Tensor):
        return make(x._ag_raw if x._ag_raw.ndim == 0 else laid_out(x._ag_raw))
    return type(x)(map(copied, x)) if type(x) in (list, tuple) else x


def laid_out(raw):
    """A copy with the same strides."""
    made = empty_strided(raw.shape, strides_of(raw), raw.dtype)
    made[...] = raw
    return made


def described(x):
    if isinstance(x, Tensor):
        return x._ag_raw.dtype.name, x._ag_raw.shape
    return tuple(map(described, x)) if isinstance(x, (list, tuple)) else repr(x)


class _Spy:
    """Stands where transforms do, takes nothing over, and remembers."""

    def __init__(self):
        self.calls = {}

    def operation(self, op, args):
        if len(self.calls.get(op.identifier, ())) > 40:
            return NotImplemented
        inputs = [t for i, p in op.input_positions for t in (args[i] if p.is_list else [args[i]])]
        if any(map(is_float, inputs)):
            self.calls.setdefault(op.identifier, {}).setdefault(described(args), tuple(map(copied, args)))
        return NotImplemented


def collect(codes):
    """For each operation with a derivative that the expressions use: its calls, as tuples of arguments."""
    spy = _Spy()
    hooks = dispatch.Transforms
    before = hooks.operation, hooks.inplace, thread_state.levels, thread_state.wrapping, process_state.special
    try:
        hooks.operation, hooks.inplace, process_state.special = spy.operation, spy.operation, process_state.special + 1
        thread_state.levels, thread_state.wrapping = (DualLevel(by_hand=True),), True
        for code in codes:
            torch.manual_seed(0)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    record_expressions.observe(torch, code)
                except Exception:
                    continue
    finally:
        hooks.operation, hooks.inplace, thread_state.levels, thread_state.wrapping, process_state.special = before
    return {name: spread(list(calls.values())) for name, calls in sorted(spy.calls.items()) if table[name].derivatives}


def spread(calls):
    """A few of many, not only the first."""
    step = max(len(calls) // AT_MOST, 1)
    return calls[::step][:AT_MOST]


@functools.cache
def collected():
    """The calls of all recorded expressions."""
    return collect(expressions())


def expressions():
    found = list(LAYERS)
    for name in ("expressions.json", "mathematics.json", "more_expressions.json"):
        found += json.loads((OPS / name).read_text())
    return found

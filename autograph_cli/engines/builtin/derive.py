"""Differentiates a graph of the built-in engine once more, without a trace of it in the script's own run."""

from __future__ import annotations

import contextlib
import io
import random
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from autograph_cli.engines.builtin.saved import bytes_kept
from autograph_cli.engines.protocol import CannotDerive
from autograph_cli.torch._arrays import cuda
from autograph_cli.torch._core.backward import grad
from autograph_cli.torch._core.base.state import process_state, thread_state
from autograph_cli.torch._core.running.device_dispatch import filled
from autograph_cli.torch._core.streams.generator import default_stream
from autograph_cli.torch._core.tape.node import AccumulateGrad, Extra, Node, output_meta
from autograph_cli.torch._core.tape.saved_tensors import Packed
from autograph_cli.torch._core.tape.tensor import Tensor, make

MOST_BYTES = 256 * 2**20
"""A graph that keeps more is not differentiated unasked: memory could double."""
_SERVED = ("autograph_cli", "torch", "torchvision")


def gradients(observer: Any, roots: Sequence[Tensor], *, custom: bool) -> tuple[list[Tensor], Sequence[Tensor | None]]:
    """The leaves that the roots hang on, and their gradients with a graph, of which the observer is told.

    `custom`: go on where custom Functions are in the graph, whose Python code then runs once more. Raises
    `CannotDerive` where it is better not to run the graph.
    """
    leaves, nodes = _survey(roots, custom)
    with unseen(observer, nodes):
        return leaves, grad(list(roots), leaves, [_ones(root) for root in roots], create_graph=True, allow_unused=True)


def _survey(roots: Sequence[Tensor], custom: bool) -> tuple[list[Tensor], list[Node]]:
    """The leaves and nodes that the roots hang on; raises `CannotDerive` where it is better not to run them."""
    stack = [root.grad_fn for root in roots if root.grad_fn is not None]
    met, leaves = set(stack), []
    while stack:
        node = stack.pop()
        if isinstance(node, AccumulateGrad):
            leaves.append(node)
            continue
        _check(node, custom)
        for edge in node._ag_edges:
            if edge is not None and edge[0] not in met:
                met.add(edge[0])
                stack.append(edge[0])
    if not leaves:
        raise CannotDerive("not made: the roots hang on no leaf")
    if bytes_kept(met) > MOST_BYTES:
        raise CannotDerive(f"not made: the graph keeps more than {MOST_BYTES >> 20} MiB for backward")
    return [leaf.variable for leaf in sorted(leaves, key=lambda leaf: leaf._ag_seq)], list(met)


def _check(node: Node, custom: bool) -> None:
    if node._ag_saved is None:
        raise CannotDerive("not made: a backward pass has freed the graph")
    if any(isinstance(item, Packed) and item.hooked for item in node._ag_saved):
        raise CannotDerive("not made: hooks pack saved tensors, those of a checkpoint or of the script")
    if not custom and _is_custom(type(node)):
        name = node._ag_name().removesuffix("Backward")
        raise CannotDerive(f"not made: the graph contains the custom Function {name}, whose code would run twice")


def _is_custom(cls: type[Node]) -> bool:
    """Return whether the backward of these nodes is code of the script."""
    function = getattr(cls, "_forward_cls", None)
    return function is not None and function.__module__.partition(".")[0] not in _SERVED


_MODES: dict[str, Any] = {
    "grad": True, "inference": False, "saved_hooks": (), "anomaly": False, "current": None, "autocast": None,
    "rehearses": True,
}  # fmt: skip
"""The modes that the thread has within `unseen`."""


@contextlib.contextmanager
def unseen(observer: Any, nodes: Iterable[Node]) -> Iterator[None]:
    """Within the block: this observer, no hooks, default modes; nothing printed, and all put back afterwards."""
    before = process_state.observer, process_state.special, process_state.passed
    modes = {name: getattr(thread_state, name) for name in _MODES}
    extras = [(node, node._ag_extra) for node in nodes if node._ag_extra is not None]
    metas = [(meta, meta.hooks) for meta in _leaf_metas(nodes) if meta.hooks]
    quiet = io.StringIO()
    try:
        process_state.observer, process_state.special = observer, int(process_state.float8)
        process_state.passed = None  # what runs here ends no step
        for name, value in _MODES.items():
            setattr(thread_state, name, value)
        for node, extra in extras:
            node._ag_extra = Extra()
            node._ag_extra.versions = extra.versions
            node._ag_extra.by_operations = extra.by_operations
        for meta, _ in metas:
            meta.hooks = None
        with (
            contextlib.redirect_stdout(quiet),
            contextlib.redirect_stderr(quiet),
            warnings.catch_warnings(),
            np.errstate(all="ignore"),
            _same_random_numbers(),
        ):
            warnings.simplefilter("ignore")
            yield
    finally:
        process_state.observer, process_state.special, process_state.passed = before
        for name, value in modes.items():
            setattr(thread_state, name, value)
        for node, extra in extras:
            node._ag_extra = extra
        for meta, hooks in metas:
            meta.hooks = hooks


@contextlib.contextmanager
def _same_random_numbers() -> Iterator[None]:
    """Put back every generator that code of the script may have drawn from."""
    numpys, ours = sys.modules.get("numpy.random"), default_stream  # NumPy imports it when it is first asked for
    before = random.getstate(), numpys and numpys.get_state(), ours.get_state() if ours.drawn else None
    seed = ours.initial_seed()
    on_gpus = cuda.states()
    try:
        yield
    finally:
        random.setstate(before[0])
        if numpys:
            numpys.set_state(before[1])
        if before[2] is None:
            ours.manual_seed(seed)
        else:
            ours.set_state(before[2])
        cuda.set_states(on_gpus)


def _leaf_metas(nodes: Iterable[Node]) -> Iterator[Any]:
    for node in nodes:
        if isinstance(node, AccumulateGrad) and node.variable._ag_meta is not None:
            yield node.variable._ag_meta


def _ones(root: Tensor) -> Tensor:
    return make(filled(output_meta(root._ag_raw), 1))

"""Makes the derivative graph that a script did not ask for, without a trace of it in the script's own run."""

from __future__ import annotations

import contextlib
import functools
import io
import random
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from autograph_cli.graph import Graph
from autograph_cli.record.build import Span, build
from autograph_cli.record.measures import Beside, Measures
from autograph_cli.record.naming import is_ours
from autograph_cli.record.saved import bytes_kept, collect
from autograph_cli.record.sites import Sources
from autograph_cli.record.tape import Output, Tape, key_of, number_of
from autograph_cli.torch._core.backward import grad
from autograph_cli.torch._core.device_dispatch import filled
from autograph_cli.torch._core.node import AccumulateGrad, Extra, Node, like_of
from autograph_cli.torch._core.registry import functions
from autograph_cli.torch._core.saved_tensors import Packed
from autograph_cli.torch._core.state import L, S
from autograph_cli.torch._core.tensor import Tensor, make

MOST_BYTES = 256 * 2**20
"""A graph that keeps more is not differentiated unasked: memory could double."""
NOT_CHOSEN = (
    "not made for this step: the script asked for first derivatives only; of a step that is named by number it is made "
    "(render FILE.py --step 3, run --steps 3)"
)


class CannotDerive(Exception):
    """Why no derivative graph was made, as a sentence."""


def derive(
    tape: Tape,
    sources: Sources,
    span: Span,
    roots: Sequence[tuple[str, Tensor]],
    *,
    custom: bool,
    measures: Measures | None = None,
) -> tuple[Callable[[], Graph] | None, str]:
    """What makes the graph of `span` with the gradients of `roots` by their leaves in it, and how it came about.

    `custom`: go on where custom Functions are in the graph, whose Python code then runs once more. The graph is to be
    made when the step is over, with all that was measured in it.
    """
    names = ", ".join(f"`{name}`" for name, _ in roots)
    try:
        leaves, nodes = _survey(roots, custom)
        other = tape.copy()
        other.passes = list(span.passes)
        with _unseen(Beside(other, measures), nodes):
            found = grad(
                [root for _, root in roots],
                leaves,
                [_ones(root) for _, root in roots],
                create_graph=True,
                allow_unused=True,
            )
        gradients = list(_named(other, leaves, found))
        if not gradients:
            raise CannotDerive(f"not made: the gradients of {names} are constants, with no graph of their own")
        collect(other, (span.first, other.count))
        made = Span(span.first, other.count, other.passes, [*span.roots, *gradients], span.found)
        return functools.partial(build, other, sources, made), (
            f"made by autograph from {names} and its leaves; the script itself asked for first derivatives only"
        )
    except CannotDerive as reason:
        return None, str(reason)
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        return None, f"not made: autograph differentiated {names} once more, and that failed with {what}"


def _survey(roots: Sequence[tuple[str, Tensor]], custom: bool) -> tuple[list[Tensor], list[Node]]:
    """The leaves and nodes that the roots hang on; raises `CannotDerive` where it is better not to run them."""
    stack = [root.grad_fn for _, root in roots if root.grad_fn is not None]
    met, leaves = set(stack), []
    while stack:
        node = stack.pop()
        if isinstance(node, AccumulateGrad):
            leaves.append(node)
            continue
        _check(node, custom)
        for edge in node._edges:
            if edge is not None and edge[0] not in met:
                met.add(edge[0])
                stack.append(edge[0])
    if not leaves:
        raise CannotDerive("not made: the roots hang on no leaf")
    if bytes_kept(met) > MOST_BYTES:
        raise CannotDerive(f"not made: the graph keeps more than {MOST_BYTES >> 20} MiB for backward")
    return [leaf.variable for leaf in sorted(leaves, key=lambda leaf: leaf._seq)], list(met)


def _check(node: Node, custom: bool) -> None:
    if node._saved is None:
        raise CannotDerive("not made: a backward pass has freed the graph")
    if any(isinstance(item, Packed) for item in node._saved):
        raise CannotDerive("not made: the script packs saved tensors with hooks of its own")
    if not custom and is_custom(type(node)):
        name = node._name().removesuffix("Backward")
        raise CannotDerive(f"not made: the graph contains the custom Function {name}, whose code would run twice")


def is_custom(cls: type[Node]) -> bool:
    """Whether the backward of these nodes is code of the script."""
    function = getattr(cls, "_forward_cls", None)
    return function is not None and not is_ours(function)


@contextlib.contextmanager
def _unseen(observer: Beside, nodes: Iterable[Node]) -> Iterator[None]:
    """Within the block: this observer, no hooks, default modes; nothing printed, and all put back afterwards."""
    modes = ("grad", "inference", "saved_hooks", "anomaly", "current", "autocast")
    before = S.observer, S.special - S.reserved - S.lazy, {name: getattr(L, name) for name in modes}
    extras = [(node, node._extra) for node in nodes if node._extra is not None]
    metas = [(meta, meta.hooks) for meta in _leaf_metas(nodes) if meta.hooks]
    quiet = io.StringIO()
    try:
        S.observer, S.special = observer, S.reserved + S.lazy
        L.grad, L.inference, L.saved_hooks, L.anomaly, L.current, L.autocast = True, False, (), False, None, None
        for node, extra in extras:
            node._extra = Extra()
            node._extra.versions = extra.versions
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
        S.observer, special, kept = before
        S.special = special + S.reserved + S.lazy
        for name, value in kept.items():
            setattr(L, name, value)
        for node, extra in extras:
            node._extra = extra
        for meta, hooks in metas:
            meta.hooks = hooks


@contextlib.contextmanager
def _same_random_numbers() -> Iterator[None]:
    """Put back every generator that code of the script may have drawn from."""
    ours = functions.get("get_rng_state"), functions.get("set_rng_state")
    before = random.getstate(), np.random.get_state(), ours[0]() if ours[0] else None
    try:
        yield
    finally:
        random.setstate(before[0])
        np.random.set_state(before[1])
        if ours[1]:
            ours[1](before[2])


def _leaf_metas(nodes: Iterable[Node]) -> Iterator[Any]:
    for node in nodes:
        if isinstance(node, AccumulateGrad) and node.variable._meta is not None:
            yield node.variable._meta


def _ones(root: Tensor) -> Tensor:
    return make(filled(like_of(root._raw), 1))


def _named(tape: Tape, leaves: list[Tensor], found: Iterable[Tensor | None]) -> Iterator[tuple[str, Output]]:
    """The gradients that have a graph, each named after its leaf."""
    for place, (leaf, gradient) in enumerate(zip(leaves, found, strict=True)):
        output = None if gradient is None or gradient.grad_fn is None else tape.output(gradient)
        if output is None:
            continue
        names = tape.names.get(_numbers(tape, tape.output(leaf)), [])
        name = f"{names[0] if names else f'leaf {place}'}.grad"
        tape.names.setdefault(_numbers(tape, output), []).append(name)
        yield name, output


def _numbers(tape: Tape, output: Output | None) -> tuple[int, int]:
    return (0, 0) if output is None else (tape.rows[key_of(output)].number, number_of(output))

"""Differentiates a graph of PyTorch once more, without a trace of it in the script's own run."""

from __future__ import annotations

import contextlib
import io
import random
import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from autograph_cli.engines.protocol import CannotDerive
from autograph_cli.engines.pytorch import private, private_compiler
from autograph_cli.engines.pytorch.hooks import are_hooked
from autograph_cli.engines.pytorch.notes import note_of
from autograph_cli.engines.pytorch.order import is_leaf
from autograph_cli.engines.pytorch.private import is_captured
from autograph_cli.engines.pytorch.saved import PACKED

if TYPE_CHECKING:
    from autograph_cli.engines.pytorch.connection import PyTorch

MOST_BYTES = 256 * 2**20
"""A graph that keeps more is not differentiated unasked: memory could double."""


def derive(engine: PyTorch, roots: Sequence[Any], *, custom: bool) -> tuple[list[Any], Sequence[Any]]:
    """The leaves that the roots hang on, and their gradients with a graph; see `protocol.Engine`."""
    if is_captured():
        raise CannotDerive("not made: a CUDA graph was being captured")
    leaves = _survey(engine, roots, custom)
    ones = [torch.ones_like(root) for root in roots]
    with unseen(), engine.listening():
        # `torch.autograd.grad` itself would import a computer algebra system to compare the shapes of roots and ones.
        pass_of = private.run_backward()
        return leaves, pass_of(tuple(roots), tuple(ones), True, True, tuple(leaves), True, accumulate_grad=False)


def _survey(engine: PyTorch, roots: Sequence[Any], custom: bool) -> list[Any]:
    """The leaves, in the order in which they were met; raises `CannotDerive` where it is better not to run."""
    stack = [root.grad_fn for root in roots if root.grad_fn is not None]
    met = set(stack)
    leaves: list[Any] = []
    sizes: dict[int, int] = {}
    while stack:
        node = stack.pop()
        if is_leaf(node):
            leaves.append(node.variable)
            continue
        _check(node, custom)
        for _, kind, _, storage, size, _, _ in engine.look([note_of(node)])[0] or ():
            if kind is not None and kind[1] != "meta":
                sizes[storage] = max(sizes.get(storage, 0), size)
        for following, _ in node.next_functions:
            if following is not None and following not in met:
                met.add(following)
                stack.append(following)
    if not leaves:
        raise CannotDerive("not made: the roots hang on no leaf")
    if sum(sizes.values()) > MOST_BYTES:
        raise CannotDerive(f"not made: the graph keeps more than {MOST_BYTES >> 20} MiB for backward")
    if are_hooked() or any(leaf._backward_hooks for leaf in leaves):
        raise CannotDerive("not made: the script has hooks on tensors, which would run twice")
    numbers = {id(leaf): number for leaf in leaves if (number := engine.output(leaf)) is not None}
    return sorted(leaves, key=lambda leaf: numbers.get(id(leaf), 0))


def _check(node: Any, custom: bool) -> None:
    function = getattr(node, "_forward_cls", None)
    if function is not None and not custom:
        name = node.name().removesuffix("Backward")
        raise CannotDerive(f"not made: the graph contains the custom Function {name}, whose code would run twice")
    note = note_of(node)
    if note is None or any(row[2] is PACKED for row in note.looked or ()):
        raise CannotDerive("not made: hooks pack saved tensors, those of a checkpoint or of the script")


@contextlib.contextmanager
def unseen() -> Iterator[None]:
    """Within the block: default modes; nothing printed, and all random numbers as before afterwards."""
    before = random.getstate(), np.random.get_state(), torch.get_rng_state()
    quiet = io.StringIO()
    try:
        with (
            contextlib.redirect_stdout(quiet),
            contextlib.redirect_stderr(quiet),
            warnings.catch_warnings(),
            torch.enable_grad(),
            torch.autocast("cpu", enabled=False),
            private_compiler.passes_uncompiled(),
        ):
            warnings.simplefilter("ignore")
            yield
    finally:
        random.setstate(before[0])
        np.random.set_state(before[1])
        torch.set_rng_state(before[2])

"""The inside of engines as tests of the tool ask for it: all of it stands here, so that a change inside touches no other."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any


def modes() -> dict[str, object]:
    """Return how the engine is switched, if it has been imported."""
    state = sys.modules.get("autograph_cli.torch._core.base.state")
    if state is None:
        return {}
    names = [name for name, x in vars(state.ThreadState).items() if not name.startswith("__") and not callable(x)]
    found = {name: getattr(state.thread_state, name) for name in names}
    found |= {name: getattr(state.process_state, name) for name in state.ProcessState.__slots__}
    names = sys.modules.get("autograph_cli.record.run.public_names")
    found["loaded"] = () if names is None else tuple(names.loaded)  # who hears training
    return {name: x for name, x in found.items() if name not in ("asks", "disordered", "float8")}  # only ever on


def observer() -> Any:
    """Return who is told of operations."""
    from autograph_cli.torch._core.base.state import process_state

    return process_state.observer


@contextlib.contextmanager
def unobserved() -> Iterator[None]:
    """Nobody is told of operations within the block."""
    from autograph_cli.torch._core.base.state import process_state

    before, process_state.observer = process_state.observer, None
    try:
        yield
    finally:
        process_state.observer = before


def hooks() -> tuple[Any, ...]:
    """Return who watches operations, and how many reasons there are to leave the fast path."""
    from autograph_cli.torch._core.base.state import process_state

    return process_state.op_hook, process_state.change_hook, process_state.special


def array_of(tensor: Any) -> Any:
    """Return the array of a tensor as the engine has it, in its own dtype."""
    return tensor._ag_raw


def advised_names() -> set[str]:
    """Return the names of `torch` that messages on missing ones advise."""
    from autograph_cli.torch import _missing

    return {name for name in _missing.INSTEAD.values() if name.startswith("torch.")}


def is_compiled(name: str) -> bool:
    """Return whether this module of the engine is there compiled."""
    from autograph_cli.torch._compiled import compiled

    return compiled(name) is not None

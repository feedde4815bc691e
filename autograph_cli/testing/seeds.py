"""Moves the seeds that a script sets, so that what hangs on random numbers comes out otherwise."""

from __future__ import annotations

import functools
import importlib
import random
from collections.abc import Callable
from typing import Any

import numpy as np


def move(engine: str, seed: int) -> None:
    """Begin with this seed; from now on each that is set, in this process, is another one, unless it is 0. Nothing
    undoes it."""
    torch: Any = importlib.import_module("torch" if engine == "torch" else "autograph_cli.torch")
    for module, name in ((torch, "manual_seed"), (torch.random, "manual_seed"), (np.random, "seed"), (random, "seed")):
        set_seed = getattr(module, name)
        set_seed(seed)
        setattr(module, name, _moved(set_seed, seed))


def _moved(set_seed: Callable[..., Any], by: int) -> Callable[..., Any]:
    @functools.wraps(set_seed)
    def moved(seed: Any = None, *args: Any, **kwargs: Any) -> Any:
        return set_seed(seed ^ by if isinstance(seed, int) else seed, *args, **kwargs)

    return moved

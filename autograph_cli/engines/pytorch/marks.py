"""Times PyTorch's operations on a GPU: between two CUDA events, for the script goes on before they are done."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch

from autograph_cli.engines.pytorch.hooks import tensors_in
from autograph_cli.engines.pytorch.private import is_captured


def mark(values: Iterable[Any]) -> Any:
    """An event in the queue of the GPU that the first tensor of a GPU among values is on; None where there is none, or
    where the GPU only notes what it is to do."""
    where = None if is_captured() else next((x.device for x in tensors_in(values) if x.is_cuda), None)
    return None if where is None else _recorded(where)


def since(before: Any) -> Callable[[], int] | None:
    """Return what waits until a GPU has come to now, and tells the nanoseconds since a mark; None for no mark."""
    if before is None or is_captured():
        return None
    end = _recorded(before.device)

    def nanoseconds() -> int:
        end.synchronize()
        milliseconds: float = before.elapsed_time(end)
        return round(milliseconds * 1e6)

    return nanoseconds


def _recorded(where: Any) -> Any:
    event = torch.cuda.Event(enable_timing=True)
    event.record(torch.cuda.current_stream(where))
    return event

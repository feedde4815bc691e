"""Agreement of ranks on the next collective call: they compare it before any bytes of tensors move, as PyTorch does
with TORCH_DISTRIBUTED_DEBUG=DETAIL."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.tape.tensor import Tensor
from ._transport import Request

if TYPE_CHECKING:
    from ._groups import Call, ProcessGroup

_TEXT = 232
_RECORD = np.dtype([("key", "S16"), ("sent", "<u8"), ("received", "<u8"), ("text", f"S{_TEXT}")])
"""The message of a rank: a hash of what must be the same on all, two of what goes where, and words."""

_Parts = tuple[Sequence[int], Sequence[int]]


def _hash(*parts: Any) -> bytes:
    """16 bytes, none of which is 0: NumPy ends strings of bytes there."""
    return hashlib.blake2b(repr(parts).encode(), digest_size=8).hexdigest().encode()


def _sizes(call: Call, parts: _Parts | None) -> tuple[int, int]:
    """Hashes of the number of elements that go from each rank to each, and of those that are waited for: added up over
    all ranks both are equal where all of them agree."""
    own = call.group.rank()
    sent, received = parts or ((), ())
    pairs = ((own, rank, n) for rank, n in enumerate(sent)), ((rank, own, n) for rank, n in enumerate(received))
    first, second = (sum(int(_hash(*pair), 16) for pair in each) % 2**64 for each in pairs)
    return first, second


class Agreement:
    """The question to all ranks of a group whether they make the same call, with `tensors` of the same sizes and
    dtypes; in `parts` are the numbers of elements for and from each rank, where those are not the same for all."""

    def __init__(self, call: Call, tensors: Sequence[Tensor], parts: _Parts | None = None) -> None:
        self.call = call
        words = [f"{tensor.dtype.name} {list(tensor.shape)}" for tensor in tensors]
        words += [call.op] if call.op else []
        words += [] if call.peer is None else [f"rank {call.group.ranks[call.peer]}"]
        text = f"{call.name}({', '.join(words)}) at {call.line}".encode()
        kinds = sorted({tensor.dtype.name for tensor in tensors})
        counts = None if parts else [tensor.numel() for tensor in tensors]
        own = np.zeros(1, _RECORD)
        own["key"] = _hash(call.name, call.op, call.peer, kinds, counts)
        own["sent"], own["received"] = _sizes(call, parts)
        own["text"] = text if len(text) <= _TEXT else text[: _TEXT - 3] + b"..."
        self._all = np.zeros(call.group.size(), _RECORD)
        self.request: Request = call.group.transport.compare(own.view(np.uint8), self._all.view(np.uint8))

    def error(self) -> RuntimeError | None:
        """Return what this rank and one that differs do, once all have answered; None where all agree."""
        keys, own = self._all["key"], self.call.group.rank()
        others = [rank for rank in range(len(keys)) if keys[rank] != keys[own]]
        if not others:
            if self._all["sent"].sum() == self._all["received"].sum():
                return None
            others = [rank for rank in range(len(keys)) if rank != own]
        texts, ranks = self._all["text"], self.call.group.ranks
        said = [
            f"Rank {ranks[rank]} is running collective: {texts[rank].decode(errors='replace')}"
            for rank in (own, *others[:1])
        ]
        return RuntimeError(f"Detected mismatch between collectives on ranks. {', but '.join(said)}")


_waiting: dict[ProcessGroup, deque[Callable[[], bool]]] = {}
"""For each group what has to be agreed on before its bytes move, in the order of the calls."""


def wait_for(group: ProcessGroup, goes_on: Callable[[], bool]) -> None:
    """Ask this in the order of the group's calls, which is that of all its ranks, until it is true."""
    _waiting.setdefault(group, deque()).append(goes_on)


def go_on() -> None:
    """Begin the transfers that all ranks have agreed on."""
    for group, calls in list(_waiting.items()):
        while calls and calls[0]():
            calls.popleft()
        if not calls:
            _waiting.pop(group, None)

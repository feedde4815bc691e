"""The recorder's notes on PyTorch's nodes. They stand in a table beside the nodes, for a script can print all that a
node holds."""

from __future__ import annotations

import os
import re
import sys
from typing import Any

from msgspec import Struct

from autograph_cli.engines.pytorch.node_types import Like, NodeType
from autograph_cli.engines.pytorch.private import deepen_stack, history, sequence_number
from autograph_cli.engines.pytorch.saved import Looked

LEAST = 1_000
"""The notes that are kept before those of dead nodes are looked for."""


class Note(Struct, eq=False, gc=False):
    """A note on a node. Called, it returns itself as long as the node is there, as a weak reference would."""

    token: Any
    number: int = 0
    unasked: bool = False
    node_type: NodeType = NodeType("")
    like: Like = ()
    looked: Looked | None = None

    def __call__(self) -> Note | None:
        if self.token is None:
            return None
        if sys.getrefcount(self.token) > _ALONE:
            return self
        _notes.pop(id(self.token), None)
        self.end()
        return None

    def end(self) -> None:
        """The node is gone, or another note stands for this one."""
        self.token = self.looked = None


_notes: dict[int, Note] = {}
"""By the id of the token, which a note keeps: so no other object has the id."""
_limit = LEAST


def _count_alone() -> int:
    alone = Note({})
    return sys.getrefcount(alone.token)


_ALONE = _count_alone()
"""The reference count of a token that only its note keeps."""


def _token(node: Any) -> Any:
    """An object that lives as long as a node: its metadata; in anomaly mode, when they lead to other nodes, what
    stands in them."""
    metadata = node.metadata
    return metadata.get("traceback_", metadata) if metadata else metadata


def note_of(node: Any) -> Note | None:
    """The note on a node that was told of."""
    metadata = node.metadata
    note = _notes.get(id(_token(node) if metadata else metadata))
    return note if note is not None and note.number else None


def is_unasked(node: Any) -> bool:
    """Return whether a node is the new history of a view whose base was changed, and the script has not asked for it
    before the recorder did."""
    note = _notes.get(id(_token(node)))
    return note is not None and note.unasked


def make_note(node: Any, number: int = 0, unasked: bool = False) -> Note:
    """A new note on a node, in place of the one that there is."""
    token = _token(node)
    if isinstance(token, list):
        _leave_out_ours(token)
    before = _notes.get(id(token))
    if before is not None:
        unasked = unasked or before.unasked
        before.end()
    note = _notes[id(token)] = Note(token, number, unasked)
    if len(_notes) > _limit:
        sweep()
    return note


def _leave_out_ours(traceback: list[str]) -> None:
    """Leave the frames of autograph out of the traceback of a forward call, which PyTorch prints in anomaly mode: those
    that called the script and those that the operation was told by."""
    ours = [place for place, line in enumerate(traceback) if _DRIVES.search(line)]
    traceback[:] = [line for line in traceback[ours[-1] + 1 if ours else 0 :] if _RENAMED not in line]


_DRIVES = re.compile(r'"<frozen importlib._bootstrap>", line \d+, in drive\n')
_RENAMED = f"importlib._bootstrap{os.sep}"
"""Stands in the paths of `protocol.uncounted` functions."""


def sweep() -> None:
    """Forget the notes of nodes that are gone."""
    global _limit
    dead = [note_id for note_id, each in _notes.items() if sys.getrefcount(each.token) <= _ALONE]
    for note_id in dead:
        _notes.pop(note_id).end()
    _limit = max(LEAST, 2 * len(_notes))
    deepen_stack(_limit)


def asked(tensor: Any) -> Any:
    """The node that made a tensor, as `history`; None for a view whose base was changed and whose new history the
    script has not asked for: PyTorch makes it when it is."""
    if tensor._base is None:
        return history(tensor)
    made = sequence_number()
    node = history(tensor)
    if sequence_number() != made:
        make_note(node, unasked=True)
    return None if node is None or (is_unasked(node) and note_of(node) is None) else node

"""The events beside the operations of one step: optimizers, backward calls, clips, modes and hooks, in order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autograph_cli.graph.ledger import Happening, Hook, Ledger
from autograph_cli.graph.ledger_text import happening_text, hook_text
from autograph_cli.graph.names import visible
from autograph_cli.graph.records import Pass
from autograph_cli.graph.source import Source

MOST = 120
"""Happenings of one step that a page lists."""


def told_lane(ledger: Ledger | None, number: int, passes: Sequence[Pass] = ()) -> list[dict[str, Any]]:
    """Return what the ledger has of a step, one after the other; of more than `MOST`, how many follow.

    Of a step after those that it has, the backward calls are known by their passes.

    Each tells its kind, what it is about in a word, all that is known of it, its line, and the names of the parameters.
    """
    if ledger is None:
        return []
    its = [each for each in ledger.heard if each.step == number]
    last = max((each.step for each in ledger.happenings if each.step < number), default=-1)
    if ledger.more and not its:
        words = f"{ledger.more:,} things were heard later, and not written down: optimizers, clips, modes, hooks"
        known = [_told(each.call, "", f"{each.call} ran {len(each.ran):,} nodes", each.source, []) for each in passes]
        kind = "no more is known" if known else "nothing is known"
        return [*known, {"kind": kind, "about": f"the ledger ends with step {last + 1}", "words": words, "line": ""}]
    told = [_happening(ledger, each) for each in its[:MOST]]
    if len(its) > MOST:
        told.append({"kind": "more", "about": f"{len(its) - MOST:,} more", "words": "not listed here", "line": ""})
    return told


def told_hooks(ledger: Ledger | None) -> list[dict[str, Any]]:
    """Return the hooks that were registered, each as something that happened."""
    return [] if ledger is None else [_hook(ledger, each) for each in ledger.hooks[:MOST]]


def _happening(ledger: Ledger, each: Happening) -> dict[str, Any]:
    optimizer = None if each.optimizer is None else ledger.optimizers[each.optimizer]
    about = each.words if optimizer is None else optimizer.name or optimizer.cls
    names = ledger.names(ledger.parameters_of(each.given))
    return _told(each.kind, about, happening_text(ledger, each), each.source, names)


def _hook(ledger: Ledger, each: Hook) -> dict[str, Any]:
    on = each.on if each.parameter is None else ledger.parameters[each.parameter].name or each.on
    return _told("hook", on, hook_text(ledger, each), each.source, [on] if on else [])


def _told(kind: str, about: str, words: str, source: Source | None, names: list[str]) -> dict[str, Any]:
    line = f"{visible(source.file)}:{source.line}" if source else ""
    told = {"kind": kind, "about": visible(about), "words": visible(words), "line": line}
    return told | ({"names": [visible(name) for name in names]} if names else {})

"""Memory that was changed in place outside of autograd: what the tensors that share it are from then on."""

from __future__ import annotations

import weakref
from collections.abc import Container
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from autograph_cli.engines.protocol import Output, key_of, number_of
from autograph_cli.record.log.events import INPUT, UNTRACKED, Event

if TYPE_CHECKING:
    from autograph_cli.record.log.event_log import EventLog


def latest(log: EventLog, tensor: Any, output: Output) -> Output:
    """Return what a tensor is that was known as `output`; a view whose base has changed since is taken of it once more.

    Where it is not known how the view was taken, it is an input from now on.
    """
    now = last(log, output)
    base = free_base(log, tensor)
    known = None if base is None else log.held(base)
    if known is None or now == known:
        return now
    event = log.known.get(key_of(now))
    if event is not None and (event.base == known or (event.kind is UNTRACKED and known in event.args[:1])):
        return now
    taken = _way(log, now, known)
    return log.input(tensor) if taken is None else _again(log, taken, known)


def mark_changed(log: EventLog, tensor: Any, made: Output) -> None:
    """A tensor with a gradient was changed outside of autograd, by what made `made`: it keeps its history, not its
    numbers."""
    output = log.engine.output(tensor)
    if output is None:
        return
    log.changed = True
    now = last(log, output)
    if now != made:  # which it is where it was changed through one and the same view before
        log.step.changed[now] = made


def current(log: EventLog, tensor: Any, output: Output) -> Output:
    """Return what holds the numbers of a tensor whose history is `output`'s; a view from before its base was changed
    outside of autograd is an input from now on."""
    changed, known = log.step.changed, log.known
    now, base = last(log, output), log.engine.base(tensor)
    whole = None if base is None else log.engine.told(base)
    if whole is None or whole not in changed or known[key_of(now)].number > known[key_of(last(log, whole))].number:
        return now
    changed[now] = log.input(tensor)
    return changed[now]


def last(log: EventLog, output: Output) -> Output:
    """Return what came of an output by changes in place outside of autograd."""
    changed = log.step.changed
    while output in changed:
        output = changed[output]
    return output


def _way(log: EventLog, output: Output, base: Output) -> list[tuple[Event, int]] | None:
    """The operations that took a view of its base, the last one first, each with the number of what it made."""
    found, changed = [], log.step.changed
    while output != base:
        event = log.known.get(key_of(output))
        source = None if event is None else _source(event, changed)
        if event is None or source is None:
            return None
        found.append((event, number_of(output)))
        output = source
        while output in changed:
            output = changed[output]
    return found


def _source(event: Event, changed: Container[Output]) -> Output | None:
    """Return what a view was taken of; of an input, how is not known, but for one of what is as it was."""
    if event.kind == UNTRACKED and event.args:
        return event.args[0]
    return event.base if event.kind == UNTRACKED or (event.kind == INPUT and event.base not in changed) else None


def _again(log: EventLog, taken: list[tuple[Event, int]], base: Output) -> Output:
    """Take a view of what its base is now, as far as that was not done yet."""
    output, changed = base, log.step.changed
    for event, nr in reversed(taken):
        key = event.key
        if output not in (event.args[:1] or (event.base,)):
            log.count += 1
            key = -log.count
            made = replace(event, number=log.count, key=key, args=(output, *event.args[1:]), base=None)
            log.add(made)
            for position in range(len(event.like)):
                old, new = output_of(event.key, position), output_of(key, position)
                changed[old] = new
        output = output_of(key, nr)
    return output


class Alias(Struct, frozen=True, eq=False):
    """A tensor over the memory of another one."""

    ref: weakref.ref[Any]
    whole: weakref.ref[Any]
    """The output that its changes are told of."""


def shares(log: EventLog, made: Any, tensor: Any) -> None:
    """Note that `made` is over the memory of `tensor`; if no gradient goes to that, changes of either are told of one
    whole."""
    if log.engine.is_tracked(tensor):
        log.step.reads_nothing(log.step.events[-1])
        log.aliases[id(made)] = Alias(weakref.ref(made), weakref.ref(tensor))
        return
    output = log.held(tensor)
    if output is not None and log.known[key_of(output)].kind in (INPUT, UNTRACKED):
        whole = free_base(log, tensor)
        log.shared[id(made)] = Alias(weakref.ref(made), weakref.ref(tensor if whole is None else whole))


def changed_through(log: EventLog, made: Any, output: Output) -> None:
    """Note that a tensor was changed, and with it one with a gradient whose memory it is."""
    alias = log.aliases.of(made) if log.aliases else None
    whole = None if alias is None else alias.whole()
    if whole is None:
        return
    log.step.reads_nothing(log.step.events[-1])
    if log.minds(whole) and log.engine.like(whole) == log.engine.like(made):
        mark_changed(log, whole, output)


def free_base(log: EventLog, tensor: Any) -> Any:
    """Return what the tensor is a view of or shares its memory with, if no gradient goes to that."""
    base = log.engine.free_base(tensor)
    whole = whole_of(log, tensor if base is None else base) if log.shared else None
    return base if whole is None else whole


def whole_of(log: EventLog, tensor: Any) -> Any:
    """Return what changes of this tensor are told of, where it shares the memory of another one."""
    alias = log.shared.of(tensor)
    return None if alias is None else alias.whole()


def output_of(key: int, nr: int) -> Output:
    """An output as the log writes it: the key alone for the first one."""
    return (key, nr) if nr else key

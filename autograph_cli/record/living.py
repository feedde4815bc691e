"""The graph of tensors that are there already: records made from the nodes themselves, of which nothing was noted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from autograph_cli.engines.builtin_living import Living
from autograph_cli.engines.protocol import key_of, number_of
from autograph_cli.graph import Graph, Node, Output, Root, TensorType
from autograph_cli.record import names
from autograph_cli.record.event_log import EventLog
from autograph_cli.record.events import Event
from autograph_cli.record.saved_tensors import Versions, records


def graph_of(log: EventLog, roots: Sequence[tuple[str, Any]], spaces: Iterable[Mapping[str, Any]]) -> Graph:
    """The graph that these tensors hang on, with the names of these spaces, by a log that has noted nothing yet."""
    log.living = True
    for name, root in roots:
        if not names.is_hidden(name):
            log.engine.output(root)
    count = len(log.known)
    names.scan(log, spaces)
    try:
        builder = _Builder(log, count)
        outputs = names.scan(log, [dict(roots)])
        found = [Root(name, builder.positions[key_of(output)], number_of(output)) for name, output in outputs]
        return Graph(tuple(builder.nodes()), tuple(found))
    finally:
        log.clear()  # the engine and it hold each other, and it holds nodes


class _Builder:
    def __init__(self, log: EventLog, count: int) -> None:
        """For the first so many that the log knows, which is what the roots hang on."""
        self.log, self.engine = log, log.engine
        self.met: dict[int, Any] = dict(islice(log.known.items(), count))
        self.positions = dict(zip(self.met, range(count), strict=True))
        living = Living(self.positions, log.engine.number)
        self.rows = living.rows([node for node in self.met.values() if node.__class__ is not Event])
        self.kept_in, self.given = living.kept_in, set[int]()
        leaves = [event for event in self.met.values() if event.__class__ is Event]
        for event, memory in zip(leaves, log.engine.storages([event.ref() for event in leaves]), strict=True):
            if (storage := living.storages.get(memory)) is not None:
                self.given.add(storage)
                self.kept_in.setdefault(self.positions[event.key], storage)
        self.plain: dict[int, tuple[Output, ...]] = {}
        """What is made of each type without a name or a memory that is kept, by its id."""

    def nodes(self) -> Iterator[Node]:
        """The records of what was met, in order."""
        types, plain, kept_in, given = self.engine.types, self.plain, self.kept_in, self.given
        versions: Versions = {}
        named = self.log.names.keys() | self.log.borrowed.keys()
        titles: dict[Any, tuple[str, str]] = {}
        rows = self.rows
        rows.reverse()
        for position, (key, met) in enumerate(self.met.items()):
            if met.__class__ is Event:
                yield self._leaf(position, met)
                continue
            cls, like, following, kept = rows.pop()
            name, op = titles.get(cls) or titles.setdefault(cls, self.engine.names(cls))
            made = types(cls, like)
            if len(made) != 1 or key in named:
                outputs = self._outputs(position, key, made)
            elif (storage := kept_in.get(position)) is not None:
                outputs = (Output(made[0], (), storage),)
            elif (found := plain.get(id(made[0]))) is not None:  # its record keeps it, so that its id stays its own
                outputs = found
            else:
                outputs = plain[id(made[0])] = (Output(made[0]),)
            args: Any = following if all(following) else tuple([edge for edge in following if edge is not None])
            yield Node(
                position,
                "operation",
                name,
                op,
                outputs,
                following,
                args,
                saved=records(kept, versions, given) if kept else (),
            )

    def _leaf(self, position: int, event: Event) -> Node:
        outputs = self._outputs(position, event.key, self.engine.types(event.cls, event.like))
        owner = event.owner or self.log.modules.owner(event.ref())
        return Node(position, "leaf", self.engine.names(event.cls)[0], "", outputs, module=owner)

    def _outputs(self, position: int, key: int, types: Sequence[TensorType]) -> tuple[Output, ...]:
        return tuple(
            [
                Output(type_, self._names(key, nr), self.kept_in.get((position, nr) if nr else position))
                for nr, type_ in enumerate(types)
            ]
        )

    def _names(self, key: int, nr: int) -> tuple[str, ...]:
        return tuple(self.log.names.get(key, {}).get(nr) or self.log.borrowed.get(key, {}).get(nr) or ())

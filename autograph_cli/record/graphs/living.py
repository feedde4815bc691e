"""The graph of tensors that are there already: records made from the nodes themselves, of which nothing was noted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from autograph_cli.engines.builtin.living import Living, fast
from autograph_cli.engines.protocol import key_of, number_of
from autograph_cli.graph import Graph, Node, Output, Root, TensorType
from autograph_cli.record.log.changes import output_of
from autograph_cli.record.log.event_log import EventLog
from autograph_cli.record.log.events import Event
from autograph_cli.record.log.saved_tensors import Versions, records
from autograph_cli.record.names import variables as names


def graph_of(log: EventLog, roots: Sequence[tuple[str, Any]], spaces: Iterable[Mapping[str, Any]]) -> Graph:
    """The graph that these tensors hang on, with the names of these spaces, by a log that has noted nothing yet."""
    log.living = True
    for name, root in roots:
        if not names.is_hidden(name):
            log.engine.output(root)
    count = len(log.known)
    names.scan(log, spaces)
    try:
        outputs = names.scan(log, [dict(roots)])
        builder = Builder(log, count)
        found = [Root(name, builder.positions[key_of(output)], number_of(output)) for name, output in outputs]
        return Graph(tuple(builder.nodes()), tuple(found))
    finally:
        log.clear()  # the engine and it hold each other, and it holds nodes


class Builder:
    settled = staticmethod(records)

    def __init__(self, log: EventLog, count: int) -> None:
        """For the first so many that the log knows, which is what the roots hang on."""
        self.log, self.engine = log, log.engine
        known: dict[int, Any] = log.known
        self.met = known if len(known) == count else dict(islice(known.items(), count))
        self.positions = dict(zip(self.met, range(count), strict=True))
        self.living = Living(self.positions, log.engine.number)
        leaves = [event for event in self.met.values() if event.__class__ is Event]
        self.rows = self.living.rows([node for node in self.met.values() if node.__class__ is not Event])
        self.given: set[int] = set()
        """The memory of leaves, by number."""
        for event, memory in zip(leaves, log.engine.storages([event.ref() for event in leaves]), strict=True):
            if (storage := self.living.storages.get(memory)) is not None:
                self.given.add(storage)
                self.living.kept_in.setdefault(self.positions[event.key], storage)
        self.named = log.names.keys() | log.borrowed.keys()
        self.plain: dict[int, tuple[Output, ...]] = {}
        """The outputs of each type without a name or a memory that is kept, by its id: its record keeps it."""
        self.versions: Versions = {}
        self.titles: dict[Any, tuple[str, str]] = {}

    def nodes(self) -> list[Node]:
        """The records of what was met, in order."""
        self.rows.reverse()
        if fast is not None:
            return fast.nodes(self, Event)  # type: ignore[no-any-return]
        pairs = enumerate(self.met.items())
        return [self.leaf(n, met) if isinstance(met, Event) else self._node(n, key) for n, (key, met) in pairs]

    def _node(self, position: int, key: int) -> Node:
        cls, like, following, kept = self.rows.pop()
        name, op = self.title(cls)
        outputs = self.outputs(position, key, self.engine.types(cls, like))
        args: Any = following if all(following) else tuple([edge for edge in following if edge is not None])
        kept = self.settled(kept, self.versions, self.given)
        return Node(position, "operation", name, op, outputs, following, args, saved=kept)

    def title(self, cls: Any) -> tuple[str, str]:
        """The name of nodes of this class, and that of their operation."""
        return self.titles.get(cls) or self.titles.setdefault(cls, self.engine.names(cls))

    def leaf(self, position: int, event: Event) -> Node:
        """The record of a leaf."""
        outputs = self.outputs(position, event.key, self.engine.types(event.cls, event.like))
        owner = event.owner or self.log.modules.owner(event.ref())
        return Node(position, "leaf", self.engine.names(event.cls)[0], "", outputs, module=owner)

    def outputs(self, position: int, key: int, types: Sequence[TensorType]) -> tuple[Output, ...]:
        """Return what the node of this key made."""
        kept_in = self.living.kept_in
        if len(types) == 1 and key not in self.named:
            storage = kept_in.get(position)
            if storage is not None:
                return (Output(types[0], (), storage),)
            return self.plain.get(id(types[0])) or self.plain.setdefault(id(types[0]), (Output(types[0]),))
        return tuple(
            [
                Output(type_, self._names(key, nr), kept_in.get((position, nr) if nr else position))
                for nr, type_ in enumerate(types)
            ]
        )

    def _names(self, key: int, nr: int) -> tuple[str, ...]:
        output = output_of(key, nr)
        return tuple(self.log.names.of(output) or self.log.borrowed.of(output))

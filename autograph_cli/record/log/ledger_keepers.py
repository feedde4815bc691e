"""The keepers of graphs of earlier steps: nodes that live on, and the variables and containers that lead to them."""

from __future__ import annotations

import gc
import re
import sys
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FunctionType
from typing import Any

from msgspec.structs import replace

from autograph_cli.engines.protocol import key_of
from autograph_cli.graph import Source
from autograph_cli.graph.ledger import Keeper
from autograph_cli.record.log.event_log import EventLog
from autograph_cli.record.log.events import LEAF, OPERATION, Event, behind
from autograph_cli.record.names.source_locations import Site, script_frames, site_of
from autograph_cli.record.names.variables import attributes_of, is_exactly, variables_of

GROWING = 4
"""The backward calls in a row that must have begun with more than the one before."""
TURNS = 6
"""The turns of a loop that must be kept and that no backward call ever ran."""
FARTHEST, OBJECTS = 6, 20_000
"""The depth to which containers and objects are looked into, and the most things that are looked at."""
Line = Callable[[Site | None], Source | None]
_CONTAINERS: tuple[Any, ...] = (list, tuple, set, frozenset, deque)
_HOLDERS = (dict, *_CONTAINERS)
_PLAIN = (str, bytes, int, float, bool, complex, type(None), type)
_ITEM, _NUMBERED = re.compile(r"\[[^\[\]]*\]$"), re.compile(r"\[\d+\]")


class _Place:
    """The nodes of earlier turns that lived when the backward calls of one line began."""

    __slots__ = ("began", "counts", "looked", "risen")

    def __init__(self) -> None:
        self.began = 0
        self.counts: list[int] = []
        self.risen: list[int] = []
        """The counts since the last that was less than the one before, each once."""
        self.looked = 0

    def count(self, living: int) -> None:
        if self.risen and living < self.risen[-1]:
            self.risen = []
        if not self.risen or living > self.risen[-1]:
            self.risen.append(living)
        self.counts.append(living)

    def grows(self, calls: int) -> bool:
        """Return whether it grew so many times, by the last call too: in each turn, or once in several, as by an
        epoch."""
        grown = self.risen[-calls:]
        return len(grown) == calls and grown[0] > 0 and self.counts[-1:] != self.counts[-2:-1]


class Keepers:
    """Counts what lives of earlier steps whenever a backward call begins, and looks for who keeps it where that
    grows."""

    def __init__(self, log: EventLog, line: Line) -> None:
        self._log, self._line = log, line
        self._places: dict[tuple[str, Site | None], _Place] = {}
        self.last = 0
        """The number of events when the last backward call began."""
        self._found: list[tuple[Site | None, Keeper]] = []

    def begins(self, kind: str) -> None:
        """A backward call is about to run: what was made before the last one of its line began should be gone."""
        site = site_of(sys._getframe(2))
        place = self._places.setdefault((kind, site), _Place())
        living = self._living(place.began)
        place.began = self._log.count
        place.count(len(living))
        # Seldom, for it takes long: when it was seen first, and twice as late each time.
        seldom = not place.looked or len(place.counts) >= 2 * place.looked
        if kind == "backward" and place.grows(GROWING) and seldom:
            place.looked = len(place.counts)
            spaces = [variables_of(frame) for frame in reversed(script_frames(3))]
            self._found = list(self._keepers(spaces, living, tuple(place.counts)))

    def finish(self, scope: Mapping[str, Any]) -> tuple[Keeper, ...]:
        """Return who keeps what, also of a loop whose graphs no backward call ran."""
        found = self._found or self._in_the_end(scope)
        return tuple(replace(keeper, source=self._line(site)) for site, keeper in found)

    def _in_the_end(self, scope: Mapping[str, Any]) -> list[tuple[Site | None, Keeper]]:
        trains = any(kind == "backward" for kind, _ in self._places)
        for (kind, _), place in self._places.items():
            living = self._living(place.began)
            place.count(len(living))
            if (kind == "backward" or not trains) and place.grows(GROWING if trains else TURNS):
                return list(self._keepers([scope], living, tuple(place.counts)))
        unused = [event for event in self._operations() if event.number > self.last and not event.order]
        unused = unused if any(self._log.modules.owner(x) for x in self._leaves(unused)) else []
        return [
            (site, replace(each, ended=True))
            for site, each in self._keepers([scope], unused, ())
            if each.steps >= TURNS
            and (self._places or each.count > 1 or self._adds_up(site) or self._attribute(each, site))
        ]

    def _leaves(self, events: Sequence[Event]) -> Iterator[Any]:
        """The leaves that operations were given."""
        for key in {key_of(output) for event in events for output in event.next if output is not None}:
            event = self._log.known.get(key)
            leaf = None if event is None or event.kind is not LEAF else event.ref()
            if leaf is not None:
                yield leaf

    def _living(self, before: int) -> list[Event]:
        return [event for event in self._operations() if event.number <= before]

    def _operations(self) -> Iterator[Event]:
        known = [*self._log.known.values()]  # a handler of a signal may add to it
        return (event for event in known if event.kind is OPERATION and event.ref() is not None)

    def _keepers(
        self, spaces: Sequence[Mapping[str, Any]], living: list[Event], counts: tuple[int, ...]
    ) -> Iterator[tuple[Site | None, Keeper]]:
        """The variables and containers that lead to living nodes, the one that leads to most first."""
        if not living:
            return
        wanted = {event.key: event for event in living}
        held: dict[str, tuple[list[Event], set[int]]] = {}
        ends_of = [(path, self._event(tensor)) for path, tensor in self._tensors(spaces)]
        for path, event in (*ends_of, *self._cycles(living)):
            if event is None or event.kind is not OPERATION:
                continue
            behind = self._behind(event.key) & wanted.keys()
            if behind:
                ends, keys = held.setdefault(_container(path), ([], set()))
                ends.append(event)
                keys |= behind
        most = max((len(keys) for _, keys in held.values()), default=0)
        if 4 * most < len(living):
            return  # what keeps nearly all of them is no variable

        def rank(item: tuple[str, tuple[list[Event], set[int]]]) -> Any:
            """Put first what leads to nearly all and is made of itself, then the oldest: the rest is computed from
            it."""
            path, (ends, keys) = item
            oldest = min(event.number for event in ends)
            return 10 * len(keys) < 9 * most, not self._takes_itself(path, ends[-1].site), oldest, path

        covered: set[int] = set()
        for path, (ends, keys) in sorted(held.items(), key=rank):
            if 2 * len(keys - covered) > len(keys):
                covered |= keys
                yield ends[-1].site, self._keeper(path, ends, [wanted[key] for key in keys], counts)

    def _cycles(self, living: Sequence[Event]) -> Iterator[tuple[str, Event | None]]:
        """The nodes of custom Functions whose `ctx` has a result of their own as an attribute, and so never end."""
        wanted = {event.key for event in living if self._log.engine.names(event.cls)[0].endswith("Backward")}
        # Only where a custom Function ran: there may be a million objects.
        nodes = [x for x in gc.get_objects() if type(x).__name__.endswith("Backward") and _is_node(x)] if wanted else ()
        for node in nodes:
            event = self._event(node)
            for path, value in _inside("ctx", node) if event is not None and event.key in wanted else ():
                if issubclass(type(value), self._log.engine.tensor) and self._event(value) is event:
                    yield path, event

    def _event(self, value: Any) -> Event | None:
        """The operation that made a tensor, or whose `ctx` a value is."""
        engine = self._log.engine
        if _is_node(value):
            number = engine.told_number(value)
            return None if number is None else self._log.known.get(number)
        output = engine.told(value)
        return None if output is None else self._log.known.get(key_of(output))

    def _keeper(self, path: str, ends: Sequence[Event], kept: Sequence[Event], counts: tuple[int, ...]) -> Keeper:
        made = len({event.key for event in ends})
        # A line may make several nodes of a kind in each turn, and some in the first alone.
        often = sorted(Counter((event.site, event.cls) for event in kept).values())
        turns = max(often[len(often) // 3], made if made > 1 else 0)
        return Keeper(path, None, made, len(kept), sum(map(self._bytes, kept[:2_000])), turns, counts)

    def _adds_up(self, site: Site | None) -> bool:
        """Return whether a line adds to a sum: what else is made of itself, and of nothing that ran, is a forward pass
        in turns."""
        source = self._line(site)
        return source is not None and "+=" in source.text

    def _attribute(self, keeper: Keeper, site: Site | None) -> bool:
        """Return whether it is an attribute that is made from what it was, and so outlives each call."""
        return "." in keeper.name and self._takes_itself(keeper.name, site)

    def _takes_itself(self, path: str, site: Site | None) -> bool:
        """Return whether a variable is made from what it was: `memory = memory + x`, `self.total += loss`."""
        source, inner = self._line(site), path.rpartition(".")[2]
        name = re.escape(path) if inner == path else rf"(?:{re.escape(path)}|self\.{re.escape(inner)})"
        itself = rf"(^|[\s;]){name}\s*([-+*/@]=|=[^=].*(?<![\w.]){name}\b)"
        return source is not None and re.search(itself, source.text) is not None

    def _behind(self, key: int) -> set[int]:
        return set(behind(self._log.known, [key]))

    def _bytes(self, event: Event) -> int:
        """Return what a node keeps beside what leaves and inputs are in."""
        node = event.ref()
        looked = None if node is None else next(iter(self._log.engine.look([node])), None)
        if looked is None:
            return 0
        saved, _ = self._log.engine.saved(event.cls, looked, {}, 0)
        return sum(each.bytes for each in saved if not each.given)

    def _tensors(self, spaces: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, Any]]:
        """The tensors that variables lead to, through containers, objects and closures, with their paths."""
        tensor = self._log.engine.tensor
        met: set[int] = set()
        things = [(name, x) for space in spaces for name, x in list(space.items()) if name[:1] not in ("_", ".", "@")]
        for _ in range(FARTHEST):
            further: list[tuple[str, Any]] = []
            for path, value in things:
                own = issubclass(type(value), type) and vars(value).get("__module__") == "__main__"
                if issubclass(type(value), tensor) or _is_node(value):
                    yield path, value
                elif not (issubclass(type(value), _PLAIN) and not own) and id(value) not in met and len(met) < OBJECTS:
                    met.add(id(value))
                    further += _inside(path, value)
            things = further


def _is_node(value: Any) -> bool:
    """Return whether this is the node of a custom Function, which goes by the name of `ctx`."""
    return hasattr(type(value), "next_functions") and hasattr(type(value), "save_for_backward")


def _container(path: str) -> str:
    """Return what takes in one more each time: the outermost list on the way to a tensor, else what holds it."""
    owner = path.rpartition(" (in ")[2].partition(")")[0]
    if owner != path and _NUMBERED.search(owner):
        return _container(owner)
    outer = _NUMBERED.split(path)[0]
    return outer if outer != path else _ITEM.sub("", path)


def _shown(key: Any) -> str:
    return repr(key) if is_exactly(key, str, int) else "..."


def _inside(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield what a container, an object or a function holds, read without code of its own."""
    kind = type(value)
    if issubclass(kind, dict):
        holder, _, own = path.rpartition(".")
        if own in ("_buffers", "_parameters", "_modules"):  # of a module: they are its attributes
            yield from ((f"{holder}.{key}", x) for key, x in list(dict.items(value)))
            return
        yield from ((f"{path}[{_shown(key)}]", x) for key, x in list(dict.items(value)))
    elif (base := next((each for each in _CONTAINERS if issubclass(kind, each)), None)) is not None:
        yield from ((f"{path}[{position}]", x) for position, x in enumerate([*base.__iter__(value)]))
    elif kind is FunctionType:
        names = zip(value.__code__.co_freevars, value.__closure__ or (), strict=False)
        for name, cell in names:
            try:
                yield f"{name} (in {path})", cell.cell_contents
            except ValueError:
                continue
    elif issubclass(kind, type):
        yield from ((f"{path}.{key}", x) for key, x in list(vars(value).items()) if issubclass(type(x), _HOLDERS))
    elif kind.__module__ != "builtins":
        yield from ((f"{path}.{key}", x) for key, x in list(attributes_of(value).items()))

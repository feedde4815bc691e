"""The ledger of training as rules read it: what came between what, and which parameters have what in common."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property

from msgspec import Struct

from autograph_cli.findings.calls import script_parts
from autograph_cli.findings.records import Seen, line_of
from autograph_cli.graph import Source
from autograph_cli.graph.cuts import LISTED
from autograph_cli.graph.ledger import Happening, Ledger, Module

OFTEN = 2
"""The times that something must be seen to be a habit of the loop."""


class Turn(Struct, frozen=True):
    """One step of an optimizer, and what came before it since its last one."""

    step: Happening
    wrote: dict[int, tuple[Happening, ...]]
    """The backward calls whose gradients were in `.grad`, the first one first, by parameter that it holds."""
    cleared: dict[int, Happening]
    """For parameters whose gradient was set to zero before the step: what did that, or the step where nothing was
    heard."""

    def calls(self) -> list[Happening]:
        """The backward calls whose gradients the step uses, in order."""
        found = {each.at: each for calls in self.wrote.values() for each in calls}
        return [found[each] for each in sorted(found)]


class Book:
    """One ledger, with what several rules ask of it."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.happenings = ledger.happenings

    @cached_property
    def sets(self) -> list[frozenset[int]]:
        return [frozenset(each) for each in self.ledger.sets]

    def given(self, happening: Happening) -> frozenset[int]:
        """The parameters that it is about."""
        return self.sets[happening.given]

    def gave(self, happening: Happening) -> frozenset[int]:
        """Return the parameters to which a backward call gave a gradient that was not zero."""
        return self.given(happening) - self.sets[happening.zero]

    def ready(self, happening: Happening) -> frozenset[int]:
        """Return the parameters that had a gradient which was not zero."""
        return self.sets[happening.ready]

    def of(self, *kinds: str) -> list[Happening]:
        """Return what was heard of these kinds."""
        return [each for each in self.happenings if each.kind in kinds]

    @cached_property
    def backward(self) -> list[Happening]:
        """The backward calls that wrote gradients."""
        return [each for each in self.of("backward") if not each.failed and each.given]

    @cached_property
    def reached(self) -> frozenset[int]:
        """The parameters that a backward call gave a gradient."""
        return frozenset().union(*map(self.given, self.backward))

    @cached_property
    def moving(self) -> list[int]:
        """The optimizers whose steps changed something."""
        return [n for n in range(len(self.ledger.optimizers)) if any(each.moved for each in self.steps_of(n))]

    @cached_property
    def held(self) -> list[frozenset[int]]:
        """Return what each optimizer holds, at any time."""
        found = [set(self.sets[each.holds]) for each in self.ledger.optimizers]
        for each in self.of("step"):
            if each.optimizer is not None:
                found[each.optimizer] |= self.given(each)
        return [frozenset(each) for each in found]

    @cached_property
    def in_some(self) -> frozenset[int]:
        """The parameters that some optimizer holds."""
        return frozenset().union(*self.held)

    def steps_of(self, optimizer: int) -> list[Happening]:
        """The steps of an optimizer."""
        return [each for each in self.of("step") if each.optimizer == optimizer]

    def between(self, start: int, end: int, kinds: Iterable[str] = ()) -> Iterator[Happening]:
        """Return what was heard after one time and before another."""
        wanted = set(kinds)
        return (each for each in self.happenings if start < each.at < end and (not wanted or each.kind in wanted))

    def turns(self, optimizer: int) -> list[Turn]:
        """The steps of an optimizer, with what led to each."""
        held, found = self.held[optimizer], []
        wrote: dict[int, tuple[Happening, ...]] = {}
        cleared: dict[int, Happening] = {}
        for each in self.happenings:
            if each.kind in ("backward", "step"):
                gone = [number for number in wrote if number not in self.ready(each)]
                if each.kind == "backward" or each.optimizer == optimizer:
                    for number in gone:
                        cleared.setdefault(number, each)
                        del wrote[number]
            if each.kind == "backward" and not each.failed:
                for number in self.gave(each) & held:
                    wrote[number] = (*wrote.get(number, ()), each)
                    cleared.pop(number, None)
            elif each.kind == "zero_grad":
                for number in self.given(each) & wrote.keys():
                    cleared[number] = each
                    del wrote[number]
            elif each.kind == "step" and each.optimizer == optimizer:
                found.append(Turn(each, dict(wrote), dict(cleared)))
                cleared.clear()
        return found

    def optimizer(self, number: int) -> str:
        """An optimizer as findings name it."""
        known = self.ledger.optimizers[number]
        return known.name or f"the optimizer {known.cls}"

    def shown(self, numbers: Iterable[int]) -> str:
        """Some parameters by name, few of many."""
        numbers = sorted(numbers)
        names = self.ledger.names(numbers)
        listed = ", ".join(names[:LISTED])
        rest = len(numbers) - len(names[:LISTED])
        if not listed:
            return f"{len(numbers)} parameter{'s' * (len(numbers) != 1)}"
        return f"{listed} and {rest} more" if rest else listed

    def module(self, number: int) -> Module | None:
        """The module that a parameter is registered in."""
        position = self.ledger.parameters[number].module
        return None if position is None else self.ledger.modules[position]

    def root(self, number: int) -> str:
        """The variable that leads to a parameter."""
        name = self.ledger.parameters[number].name
        return name.partition(".")[0].partition("[")[0]


def book_of(seen: Seen) -> Book | None:
    """The ledger of a run, once for each run: where the step is asked by which the run is judged."""
    ledger = seen.trace.ledger
    if ledger is None or not seen.is_last or seen.trace.failure:
        return None
    return Book(ledger)


def lines_that(seen: Seen, wanted: Callable[[str], object]) -> list[Source]:
    """The lines of the scripts whose text is wanted."""
    return [
        Source(file, number, text.strip())
        for file, script in seen.scripts.items()
        for number, text in enumerate(script.lines, 1)
        if wanted(text)
    ]


def line_that(seen: Seen, wanted: Callable[[str], object]) -> Source | None:
    """The first of them."""
    return next(iter(lines_that(seen, wanted)), None)


def not_called(seen: Seen, method: str) -> Source | None:
    """The first statement that names a method, and lacks the parentheses by which it would be called."""
    return next(
        (line for line, part in script_parts(seen, ast.Expr) if getattr(part.value, "attr", "") == method), None
    )


def at(source: Source | None) -> str:
    """Return where something is, as a fact says it."""
    return f" at {line_of(source)}" if source else ""

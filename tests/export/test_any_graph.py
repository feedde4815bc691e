"""Graphs made by chance, in every format, view and option: none that keeps the rules of the records may fail."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from autograph_cli.export import FLOWS, FORMATS, PARAMETERS, VIEWS, RenderOptions, render
from autograph_cli.export.errors import ExportError
from autograph_cli.export.formats import programs
from autograph_cli.export.formats.programs import LAYOUTS
from autograph_cli.export.layout.direction import DIRECTIONS
from autograph_cli.export.page import levels, sheets
from autograph_cli.export.scene.colouring import COLOURS
from autograph_cli.graph import Graph, GraphError, Slice
from autograph_cli.graph.facts import USUAL, WORDS, check_recorded
from autograph_cli.graph.names import output_names
from autograph_cli.graph.reader_level import LEVELS
from tests.export.random_graphs import batches, random_graph

AT_ONCE = 10
"""Graphs of one test."""
EXTERNAL = 30
"""Of so many graphs one goes to other programs."""

REFUSED = (
    *(
        "There is nothing to draw",
        "there is no formula",
        "ONNX holds what",
        "These operations cannot be written as ONNX",
    ),
    *(
        "ONNX refuses",
        "cannot be written as ONNX",
        "A PDF without embedded fonts",
        "is no operation: its backward",
        "Nothing lies",
        "is the name of",
    ),
    *("is a derivative and not part of the forward graph", "There is no root", "There is nothing inside"),
    *("holds no", "PNG has no glyph", "holds nothing", "too big for", "There is no "),
)
"""What a sentence says that may be the answer instead of a picture: nothing is there, or it was not recorded."""


def named(graph: Graph, chance: random.Random) -> tuple[str, ...]:
    names = [name for its in output_names(graph) for name in its if name] or ["%0"]
    return (chance.choice(names),)


def roots(graph: Graph, chance: random.Random) -> Any:
    return chance.choice((None, *((root.name,) for root in graph.roots)))


def part(graph: Graph, chance: random.Random) -> Slice:
    way = chance.choice(("start", "end", "around"))
    return Slice(**{way: named(graph, chance)}, radius=chance.choice((0, 1, 2, 5)))


def shown(graph: Graph, chance: random.Random) -> tuple[str, ...]:
    """Return what is recorded of these; seldom what may not be."""
    some = tuple(word for word in WORDS if chance.random() < 0.5)
    return some if chance.random() < 0.1 else tuple(word for word in some if is_there(graph, word))


def is_there(graph: Graph, word: str) -> bool:
    try:
        check_recorded(graph, (word,))
    except GraphError:
        return False
    return True


OPTIONS: dict[str, Callable[[Graph, random.Random], Any] | tuple[Any, ...]] = {
    "roots": roots,
    "order": (0, 1, 2, 3),
    "part": part,
    "marks": (False,),
    "colour": tuple(COLOURS),
    "max_nodes": (1, 5, 10, 25, 200),
    "roll": (True, False),
    "level": LEVELS,
    "layout": LAYOUTS[:2],
    "title": ("a.py", "</title>\u2028\x00" + "权" * 400),
    "total_steps": (1, 4),
    "shown": shown,
    "depth": (0, 1, 3),
    "tags": (False,),
    "inside": lambda graph, chance: named(graph, chance)[0],
    "parameters": tuple(name for name in PARAMETERS if name),
    "direction": DIRECTIONS,
    "columns": (False,),
    "flow": FLOWS,
    "tracked_only": (True,),
    "formula": (True,),
    "sources": ({"a.py": "y = x * w\n" * 3},),
    "panels": (),
    "held": (),
    "hooks": (),
}
"""For each option other values than the default, or what chooses one."""
SELDOM = {"inside": 0.04, "roots": 0.1, "part": 0.1, "colour": 0.1, "formula": 0.03, "order": 0.15, "layout": 0.03}
"""How often those are set that leave little to see."""


def options(graph: Graph, chance: random.Random) -> dict[str, Any]:
    asked = {}
    for name, known in OPTIONS.items():
        if known and chance.random() < SELDOM.get(name, 0.3):
            asked[name] = chance.choice(known) if isinstance(known, tuple) else known(graph, chance)
    return asked


def test_every_option_is_among_those_that_are_tried() -> None:
    assert set(OPTIONS) == set(RenderOptions.__struct_fields__)
    assert set(USUAL) <= set(WORDS)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], None]:
    """Makes what a page shows at once, and what a level holds, little."""

    def shrink(wanted: bool) -> None:
        monkeypatch.setattr(sheets, "OPENABLE", 8 if wanted else 1_000)
        monkeypatch.setattr(levels, "MOST", 10 if wanted else 100)
        monkeypatch.setattr(levels, "ROW", 4 if wanted else 25)
        monkeypatch.setattr(levels, "STUBS", 2 if wanted else 6)

    return shrink


@pytest.mark.parametrize("seeds", batches(AT_ONCE), ids=lambda its: f"{its.start}-{its.stop - 1}")
def test_every_graph_is_drawn_in_every_format_and_view(
    seeds: range, small: Callable[[bool], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = programs._run
    drawn: Counter[str] = Counter()
    for seed in seeds:
        graph, chance = random_graph(seed), random.Random(seed)
        graph.verify()
        outside = seed % EXTERNAL == 0
        monkeypatch.setattr(programs, "_run", run if outside else lambda command, source: b"drawn")
        for number, view in enumerate(VIEWS):
            for format in FORMATS:
                if format == "html" and seed % len(VIEWS) != number:
                    continue  # a page has all views
                asked = options(graph, chance) if chance.random() < 0.8 else {}
                if format == "svg" and not outside:
                    asked.pop("layout", None)
                small(chance.random() < 0.5)
                drawn[format] += drawn_or_refused(graph, view, format, asked, seed)
    assert all(drawn[format] for format in FORMATS), drawn


def drawn_or_refused(graph: Graph, view: str, format: str, asked: dict[str, Any], seed: int) -> bool:
    try:
        return bool(render(graph, view, format, **asked))
    except (ExportError, GraphError) as error:
        assert any(words in str(error) for words in REFUSED), f"graph {seed}, {view}, {format}, {asked}: {error}"
    except Exception as error:
        raise AssertionError(f"graph {seed}, {view}, {format}, {asked}: {error!r}") from error
    return False

"""Records that are made quickly are what a frozen dataclass with slots is."""

from __future__ import annotations

import copy
import inspect
import pickle
import sys
from dataclasses import FrozenInstanceError, asdict, dataclass, field, fields, replace
from typing import Any

import pytest

from autograph_cli.graph import quick
from autograph_cli.graph.quick import changed, quickly_made


@dataclass(frozen=True, slots=True)
class Plain:
    """A dataclass."""

    cls: str
    made: int = 0
    aside: tuple[int, ...] = field(default=(), compare=False, repr=False)


@quickly_made(frozen=True, slots=True)
class Quick:
    """The same."""

    cls: str
    made: int = 0
    aside: tuple[int, ...] = field(default=(), compare=False, repr=False)


@quickly_made(frozen=True, slots=True)
class Single:
    value: float


@pytest.mark.parametrize(
    "look",
    [
        lambda kind: repr(kind("a")).replace("Plain", "Quick"),
        lambda kind: kind("a", 1, (2,)) == kind("a", 1, (3,)),
        lambda kind: kind("a") == kind("a", 1),
        lambda kind: kind("a") == ("a", 0, ()),
        lambda kind: hash(kind("a", aside=(1,))) == hash(kind("a")) == hash(("a", 0)),
        lambda kind: asdict(replace(kind("a", 1, (2,)), made=3)),
        lambda kind: [(f.name, f.default, f.compare) for f in fields(kind)],
        lambda kind: str(inspect.signature(kind)),
        lambda kind: kind.__match_args__,
        lambda kind: pickle.loads(pickle.dumps(kind("a", 1, (2,)))).aside,
        lambda kind: copy.deepcopy(kind("a", 1, (2,))).aside,
        lambda kind: hasattr(kind("a"), "__dict__"),
    ],
)
def test_as_a_dataclass(look: Any) -> None:
    assert look(Quick) == look(Plain)


def test_fields_stay_as_they_are() -> None:
    record = Quick("a")
    with pytest.raises(FrozenInstanceError):
        record.made = 1  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        del record.made
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        Quick()  # type: ignore[call-arg]


def test_a_change_leaves_the_record_alone() -> None:
    record = Quick("a", 1)
    assert changed(record, made=2) == Quick("a", 2) and record == Quick("a", 1)


def test_a_number_that_is_not_equal_to_itself_makes_equal_records() -> None:
    nan = float("nan")
    assert Single(nan) == Single(nan)


@pytest.mark.parametrize(
    "make",
    [
        lambda kind: kind("a"),
        lambda kind: kind("a", 1, (2,)),
        lambda kind: kind(cls="a", aside=(1,)),
        lambda kind: kind("a", **{"".join("made"): 3}),
        lambda kind: kind(),
        lambda kind: kind("a", 1, (), 2),
        lambda kind: kind("a", cls="b"),
        lambda kind: kind("a", other=1),
        lambda kind: changed(kind("a", 1, (2,)), cls="b", aside=()),
        lambda kind: changed(kind("a"), other=1),
    ],
)
def test_compiled_as_python(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def outcome(kind: Any) -> tuple[Any, ...]:
        try:
            made = make(kind)
        except TypeError as error:
            return (str(error),)
        return made.cls, made.made, made.aside

    monkeypatch.setattr(quick, "_fast", None)

    @quickly_made(frozen=True, slots=True)
    class Python:
        """The same without the compiled module."""

        cls: str
        made: int = 0
        aside: tuple[int, ...] = field(default=(), compare=False, repr=False)

    assert outcome(Quick) == outcome(Python)


def test_records_let_go_of_what_they_held() -> None:
    word, other = object(), object()
    before = sys.getrefcount(word), sys.getrefcount(other)
    for _ in range(10):
        changed(Single(word), value=other)  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            Single(word, other)  # type: ignore[arg-type, call-arg]
        with pytest.raises(TypeError):
            changed(Single(word), value=other, more=other)  # type: ignore[arg-type]
    assert (sys.getrefcount(word), sys.getrefcount(other)) == before

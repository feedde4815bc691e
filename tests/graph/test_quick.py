"""Records that are made quickly are what a frozen dataclass with slots is."""

from __future__ import annotations

import copy
import inspect
import pickle
from dataclasses import FrozenInstanceError, asdict, dataclass, field, fields, replace
from typing import Any

import pytest

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

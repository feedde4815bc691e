"""Operations of one expression are grouped by what goes between them, in time that grows as their number."""

from __future__ import annotations

from typing import Any

import pytest

from autograph_cli.record.graphs.expressions import _connected


class Event:
    """Stands for an event, and counts how often it is asked."""

    asked = 0

    def __init__(self, number: int, args: tuple[int, ...]) -> None:
        self.number, self.args = number, args

    @property
    def key(self) -> int:
        Event.asked += 1
        return self.number


def groups(*args: tuple[int, ...]) -> list[list[int]]:
    events: Any = [Event(number, its) for number, its in enumerate(args)]
    return [[event.number for event in part] for part in _connected(events)]


@pytest.mark.parametrize(
    ("args", "wanted"),
    [
        ([], []),
        ([(), (), ()], [[0], [1], [2]]),
        ([(), (0,), (), (2,)], [[0, 1], [2, 3]]),
        ([(), (), (0, 1)], [[0, 1, 2]]),
        ([(), (), (0,), (2, 1), ()], [[0, 1, 2, 3], [4]]),
        ([(7,), (0, 0), (1, 9)], [[0, 1, 2]]),
    ],
)
def test_events_are_together_between_which_something_goes(args: Any, wanted: Any) -> None:
    assert groups(*args) == wanted


def test_a_long_chain_is_gone_through_once() -> None:
    Event.asked, many = 0, 2000
    assert groups(*[(number - 1,) if number else () for number in range(many)]) == [list(range(many))]
    assert Event.asked <= 2 * many

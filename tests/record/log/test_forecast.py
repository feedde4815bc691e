"""The heads of loops tell the turns that are left, without a call of the script's code."""

from __future__ import annotations

import itertools
import linecache
import sys
from pathlib import Path
from typing import Any

import pytest

from autograph_cli import torch
from autograph_cli.record.log.forecast import Forecast, Left

CALLED: list[str] = []


class Prints:
    """Has a length that is not to be asked for."""

    def __len__(self) -> int:
        CALLED.append("__len__")
        return 3

    def __iter__(self) -> Any:
        return iter("abc")

    def __getattr__(self, name: str) -> Any:
        CALLED.append(name)
        raise AttributeError(name)


class Held:
    """Has a length that is an expression."""

    def __init__(self, held: list[int]) -> None:
        self.held = held

    def __len__(self) -> int:
        return len(self.held) * 2

    def __iter__(self) -> Any:
        return iter(self.held * 2)


def told(body: str, folder: Path, **names: Any) -> list[Left | None]:
    """Return what is told at each call of `ask`."""
    forecast, found, file = Forecast(torch.Tensor), list[Left | None](), folder / "script.py"
    file.write_text(body, encoding="utf-8")
    linecache.checkcache(str(file))
    forecast.begin(sys._getframe())
    names["ask"] = lambda: found.append(forecast.left(sys._getframe(1), len(found) + 1))
    exec(compile(body, str(file), "exec"), names)
    return found


SURE = [
    "for i in range(n):\n    ask()",
    "for i in range(0, 2 * n, 2):\n    ask()",
    "for i in range(len(items)):\n    ask()",
    "for i in items:\n    ask()",
    "for i in items[:]:\n    ask()",
    "for i, x in enumerate(items):\n    ask()",
    "for i, x in enumerate(items, 1):\n    ask()",
    "for i, x in enumerate(list(items)):\n    ask()",
    "d = {4: 1, 5: 2, 6: 3}\nfor k, v in d.items():\n    ask()",
    "d = dict.fromkeys(items)\nfor k in d.keys():\n    ask()",
    "for x, y in zip(items, rows):\n    ask()",
    "for row in rows:\n    ask()",
    "for i in range(rows.size(0)):\n    ask()",
    "for i in range(rows.shape[0] // 1):\n    ask()",
    "for i in (1, 2, 3):\n    ask()",
    "for i in reversed(range(n)):\n    ask()",
    "for x in some.held[0:3]:\n    ask()",
    "def f():\n    ask()\nfor i in range(n):\n    f()",
    "for i in range(1):\n    for j in range(n):\n        ask()",
    "for _ in range(1):\n    for _ in range(n):\n        ask()",
    "for _ in range(n):\n    for _ in range(1):\n        ask()",
    "for i in range(n):\n    for j in range(1):\n        ask()",
    "for i in range(n):\n    ask()\nelse:\n    pass",
    "for i in range(n):\n    if True:\n        ask()",
    "def f(n):\n    for i in range(n):\n        def g():\n            return None\n        ask()\nf(n)",
    "for i in (items_ := items):\n    ask()",
    "for i in range(config['turns']):\n    ask()",
]


COUNTED = [
    "i = 0\nwhile i < n:\n    ask()\n    i += 1",
    "i = 0\nwhile i < n:\n    i += 1\n    ask()",
    "i = 0\nwhile i < n:\n    ask()\n    i = i + 1",
    "i = 0\nwhile (i := i + 1) <= n:\n    ask()",
    "i = n\nwhile items and (i := i - 1) >= 0:\n    ask()",
    "i = 0\nwhile 2 * n >= (i := i + 2):\n    ask()",
    "i = 1\nwhile i <= n:\n    ask()\n    i += 1",
    "i = 3\nwhile i > 0:\n    ask()\n    i -= 1",
    "i = 0\nwhile n > i and items:\n    ask()\n    i += 1",
    "i = 0\nwhile i != 2 * n:\n    ask()\n    i += 2",
    "i = 0\nwhile i < 0.3 - 0.01:\n    ask()\n    i += 0.1",
    "i = 0\nwhile True:\n    ask()\n    i += 1\n    if i >= n:\n        break",
    "i = 0\nwhile True:\n    ask()\n    i += 1\n    if not items or i == n: break\n",
    "i = 0\nwhile True:\n    if i > 2:\n        break\n    i += 1\n    ask()",
    "i = 0\nwhile 1:\n    ask()\n    if i >= n - 1 or i > 90:\n        break\n    i += 1",
    "some.done = 0\nwhile some.done < n:\n    ask()\n    some.done += 1",
    "config['at'] = 0\nwhile config['at'] < config['turns']:\n    ask()\n    config['at'] += 1",
    "i = 0\nwhile i < n:\n    for j in range(1):\n        ask()\n    i += 1",
    "i = 0\nfor x in iter(lambda: 1, 0):\n    ask()\n    i += 1\n    if i == n:\n        break",
    "for i in range(900):\n    ask()\n    if i == 2:\n        break",
    "for i in range(900):\n    if i >= n:\n        break\n    ask()",
    "for i, x in enumerate(items * 9):\n    ask()\n    if i + 1 == n or i == 2:\n        break",
    "for i, x in enumerate(iter(lambda: 1, 0), 1):\n    ask()\n    if i == n:\n        break",
    "import itertools\nfor i in itertools.count(1):\n    ask()\n    if i >= n:\n        break",
]
NOT_COUNTED = [
    "i = 0\nwhile i < n:\n    ask()\n    if items:\n        i += 1",
    "i = 0\nwhile i < n:\n    ask()\n    i = 1 + i",
    "i = 0\nwhile i < n:\n    ask()\n    i += len(items) - 2",
    "for i in itertools.count(0, 2):\n    ask()\n    if i >= 2 * n - 2:\n        break",
    "i = 0\nwhile items[i:]:\n    ask()\n    i += 1",
    "for x in range(2):\n    i = 0\n    while i < n:\n        ask()\n        i += 1",
    "i = 0\nwhile i < n:\n    ask()\n    i -= 1\n    i += 2",
]


def names_of_loops() -> dict[str, Any]:
    some = Held([1, 2, 3])
    return {"n": 3, "items": [4, 5, 6], "some": some, "config": {"turns": 3}, "itertools": itertools}


@pytest.mark.parametrize("body", COUNTED)
def test_a_counter_that_ends_a_loop_is_counted_down_and_may_end_before(body: str, tmp_path: Path) -> None:
    assert told(body, tmp_path, **names_of_loops()) == [Left(2, False), Left(1, False), Left(0, False)]


@pytest.mark.parametrize("body", NOT_COUNTED)
def test_what_may_not_count_every_turn_tells_nothing(body: str, tmp_path: Path) -> None:
    assert set(told(body, tmp_path, **names_of_loops())) == {None}


@pytest.mark.parametrize("body", SURE)
def test_turns_are_counted_down(body: str, tmp_path: Path) -> None:
    names = {"n": 3, "items": [4, 5, 6], "rows": torch.ones(3, 2), "some": Held([1, 2, 3]), "config": {"turns": 3}}
    assert told(body, tmp_path, **names) == [Left(2, True), Left(1, True), Left(0, True)]


@pytest.mark.parametrize(
    ("body", "left"),
    [
        ("for i in range(2):\n    for x in some:\n        ask()", 7),
        ("for i in range(5):\n    ask()\n    if str(i) == '3': break", 4),
        ("def f():\n    for i in range(5):\n        ask()\n        if i == 3: return\nf()", 4),
        ("for i in items:\n    if i > 4: continue\n    ask()", 2),
        ("for i in items:\n    if i > 4:\n        ask()", 2),
        ("def own(x): return x\nfor i in own(items):\n    ask()", 2),
    ],
)
def test_what_is_a_guess_says_so(body: str, left: int, tmp_path: Path) -> None:
    found = told(body, tmp_path, items=[4, 5, 6], some=Held([1, 2]))[0]
    assert found is not None
    assert found.turns == left
    assert found.sure == ("some" in body)


@pytest.mark.parametrize(
    "body",
    [
        "i = 0\nwhile str(i) < '3':\n    ask()\n    i += 1",
        "for i in range(3):\n    while True:\n        ask()\n        break",
        "for x in odd:\n    ask()",
        "for x in iter(odd):\n    ask()",
        "for x in (i for i in range(3)):\n    ask()",
        "for x in rows.split(1):\n    ask()",
        "for x in [*range(3)]:\n    ask()",
        "for x in map(str, range(3)):\n    ask()",
        "import itertools\nfor i in itertools.count():\n    ask()\n    if str(i) == '2': break",
    ],
)
def test_what_does_not_tell_is_not_asked(body: str, tmp_path: Path) -> None:
    assert set(told(body, tmp_path, odd=Prints(), rows=torch.ones(3, 2))) == {None}
    assert CALLED == []


def test_loops_that_were_going_on_before_are_none_of_it(tmp_path: Path) -> None:
    body = "for turn in range(9):\n    begin()\n    for i in range(3):\n        ask()"
    forecast, found = Forecast(torch.Tensor), list[Left | None]()
    file = tmp_path / "script.py"
    file.write_text(body, encoding="utf-8")
    names = {
        "begin": lambda: forecast.begin(sys._getframe(1)),
        "ask": lambda: found.append(forecast.left(sys._getframe(1), 1)),
    }
    exec(compile(body, str(file), "exec"), names)
    assert found == [Left(2, True), Left(1, True), Left(0, True)] * 9

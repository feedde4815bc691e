"""How the cyclic collector rests while a big graph is built, and what it looks at after that."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from autograph_cli.graph import collector
from autograph_cli.graph.collector import MANY, freeze, resting


@pytest.fixture(autouse=True)
def _nothing_frozen(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(collector, "_frozen", 0)
    gc.unfreeze()
    yield
    gc.unfreeze()


def is_frozen(x: object) -> bool:
    return all(x is not other for other in gc.get_objects())


def built() -> list[list[int]]:
    with resting():
        return [[] for _ in range(2 * MANY)]


def test_what_was_built_is_old_and_not_walked() -> None:
    made = built()
    young = {id(x) for generation in (0, 1) for x in gc.get_objects(generation=generation)}
    assert not young & set(map(id, made))
    assert not gc.get_freeze_count()


def test_what_a_script_froze_stays_frozen() -> None:
    own: list[object] = [[]]
    gc.freeze()
    made = built()
    assert made
    assert is_frozen(own)


def test_what_a_script_froze_after_a_build_stays_frozen() -> None:
    freeze()
    kept: list[object] = [built()]
    assert not gc.get_freeze_count()
    gc.freeze()
    kept.append(built())
    assert is_frozen(kept)


def test_what_a_script_froze_beside_what_was_frozen_for_it_stays_frozen() -> None:
    freeze()
    own: list[object] = [[] for _ in range(10_000)]
    gc.freeze()
    kept = built()
    assert kept
    assert is_frozen(own)


def test_a_collector_that_is_off_stays_off() -> None:
    gc.disable()
    try:
        built()
        assert not gc.isenabled()
    finally:
        gc.enable()

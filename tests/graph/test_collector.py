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


def built() -> list[list[int]]:
    with resting():
        return [[] for _ in range(2 * MANY)]


def test_what_was_built_is_old_and_not_walked() -> None:
    made = built()
    young = {id(x) for generation in (0, 1) for x in gc.get_objects(generation=generation)}
    assert not young & set(map(id, made))
    assert not gc.get_freeze_count()


def test_what_a_script_froze_stays_frozen() -> None:
    gc.freeze()
    before = gc.get_freeze_count()
    made = built()
    assert made
    assert gc.get_freeze_count() == before


def test_what_a_script_froze_after_a_build_stays_frozen() -> None:
    freeze()
    kept = [built()]
    assert not gc.get_freeze_count()
    gc.freeze()
    before = gc.get_freeze_count()
    kept.append(built())
    assert gc.get_freeze_count() == before


def test_what_a_script_froze_beside_what_was_frozen_for_it_stays_frozen() -> None:
    freeze()
    own = [[] for _ in range(100)]
    gc.freeze()
    before = gc.get_freeze_count()
    kept = [own, built()]
    assert kept
    assert gc.get_freeze_count() == before


def test_a_collector_that_is_off_stays_off() -> None:
    gc.disable()
    try:
        built()
        assert not gc.isenabled()
    finally:
        gc.enable()

"""The compiled loops that draw variates and permutations, beside Python's steps: the same numbers and the same stream."""

from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

from autograph_cli.torch._core.streams import generator
from autograph_cli.torch._core.streams.stream import Stream
from autograph_cli.torch._kernels.random_numbers import random_variates
from tests.torch.kernels.compared import needs_compiled, without_variants

SCALES = (0.01, 0.7, 3.0, 40.0, 1e4)
pytestmark = needs_compiled


def both_ways(monkeypatch: pytest.MonkeyPatch, draw: Any) -> None:
    """Draw with and without the compiled loops, from streams with a spare number, and compare all bits."""
    found = []
    for asked in (nullcontext(), without_variants()):
        stream = Stream(5)
        stream.spare_normal = 0.25
        with asked:
            found.append((draw(stream), stream.get_state(), stream.spare_normal))
        monkeypatch.setattr(generator, "_fast", None)
    np.testing.assert_array_equal(found[0][0], found[1][0])
    assert found[0][0].dtype == found[1][0].dtype
    np.testing.assert_array_equal(found[0][1], found[1][1])
    assert found[0][2] == found[1][2]


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", ["gamma", "gamma of float32", "poisson", "binomial", "binomial of float32"])
def test_variates(name: str, scale: float, monkeypatch: pytest.MonkeyPatch) -> None:
    made = np.random.default_rng(1)
    sizes = np.concatenate([[0.0], made.random(120) * scale])
    kind, _, narrow = name.partition(" of ")
    given = [np.floor(sizes), np.concatenate([[1.0, 0.0], made.random(119)])] if kind == "binomial" else [sizes]
    settings = {} if kind == "poisson" else {"narrow": bool(narrow)}
    both_ways(monkeypatch, lambda stream: random_variates.drawn(kind, stream, *given, **settings))


@pytest.mark.parametrize(("count", "dtype"), [(0, "i8"), (1, "i8"), (2, "i4"), (1000, "i8"), (200, "u1"), (50, "f2")])
def test_permutations(count: int, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    both_ways(monkeypatch, lambda stream: generator.permutation(stream, count, dtype))


def test_a_long_permutation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generator, "WIDE_COUNT", 100)
    both_ways(monkeypatch, lambda stream: generator.permutation(stream, 500))


def test_what_python_refuses() -> None:
    with pytest.raises(RuntimeError, match="invalid Poisson rate"):
        random_variates.drawn("poisson", Stream(0), np.array([1.0, -1.0]))

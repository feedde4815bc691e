"""Triangular systems are solved to the last digits, and by the compiled kernel with the bits of Python's."""

from typing import Any

import numpy as np
import pytest

from autograph_cli.torch._compiled import compiled
from autograph_cli.torch._kernels.matrices import triangular
from tests.cases import for_each
from tests.torch.kernels.compared import KINDS, both, numbers, odd, spread_out

needs_compiled = pytest.mark.skipif(
    compiled("_kernels.fast_triangular") is None, reason="the package was installed without its compiled modules"
)
HALVES = [(upper, unit) for upper in (False, True) for unit in (False, True)]


def system(kind: str, n: int, k: int, *batch: int) -> tuple[Any, Any]:
    a = numbers(kind, *batch, n, n) / np.sqrt(n).astype(kind)
    return a + 2 * np.eye(n, dtype=kind), numbers(kind, *batch, n, k, seed=1)


@needs_compiled
@for_each("kind", KINDS)
@pytest.mark.parametrize("n", [1, 2, 4, 5, 16, 17, 31, 64, 65, 130])
@for_each("k", [1, 3, 16, 35])
@for_each("make", [system, lambda kind, n, k: (odd(kind, n, n), odd(kind, n, k))])
def test_compiled_substitution_has_the_same_bits(kind: str, n: int, k: int, make: Any) -> None:
    a, b = make(kind, n, k)
    before = a.copy(), b.copy()
    layouts = [(a, b), (a.T, b), (spread_out(a), spread_out(b)), (a[::-1, ::-1], np.asfortranarray(b))]
    swaps = np.random.default_rng(n).integers(1, n + 1, (n, 1))

    def run() -> Any:
        return (
            *(triangular.substituted(y, x, *half) for x, y in layouts for half in HALVES),
            *(triangular.substituted(y, x, *half, None, None, True) for x, y in layouts for half in HALVES),
            *(triangular.substituted(y, x, *half, x.T) for x, y in layouts for half in HALVES),
            *(triangular.substituted(y, x, *half, x, swaps) for x, y in layouts for half in HALVES),
        )

    both(run)
    assert all(map(np.array_equal, (a, b), before, (True, True)))


@needs_compiled
@for_each("kind", KINDS)
@pytest.mark.parametrize(
    ("a", "b"),
    [((2, 5, 5), (5, 3)), ((3, 1, 4, 4), (2, 4, 1)), ((4, 4), (0, 4, 2)), ((2, 3, 0, 0), (3, 0, 2)), ((3, 3), (3, 0))],
)
def test_batches_fit_each_other(kind: str, a: Any, b: Any) -> None:
    matrices, right = numbers(kind, *a) + 3 * np.eye(a[-1], dtype=kind), numbers(kind, *b)
    swaps = np.random.default_rng(0).integers(1, a[-1] + 1, (*a[:-1], 1))
    both(
        lambda: (
            triangular.substituted(right, matrices, True),
            triangular.substituted(right, matrices.swapaxes(-1, -2), False, True, matrices, swaps, True),
        )
    )


@for_each("kind", KINDS)
@for_each("half", HALVES)
@for_each("n", [3, 20, 64, 150])
def test_solutions_are_those_of_long_numbers(kind: str, half: tuple[bool, bool], n: int) -> None:
    (a, b), (upper, unit) = system(kind, n, 4), half
    triangle = (np.triu if upper else np.tril)(a).astype(np.longdouble)
    np.fill_diagonal(triangle, 1 if unit else triangle.diagonal().copy())
    found = triangular.substituted(b, a, upper, unit)
    assert found is not None
    rest = abs(triangle @ found - b) / (abs(triangle) @ abs(found))
    assert rest.max() < 4 * np.finfo(kind).eps


@pytest.mark.parametrize("kind", KINDS)
def test_zeros_of_the_diagonal_divide(kind: str) -> None:
    a = np.array([[1, 0, 0], [1, 0, 0], [1, 1, 1]], kind)
    with np.errstate(all="ignore"):
        found = triangular.substituted(np.array([[1, 0, 1], [2, 0, 0], [1, 1, 1]], kind), a, False)
    assert np.array_equal(found, [[1, 0, 1], [np.inf, np.nan, -np.inf], [-np.inf, np.nan, np.inf]], equal_nan=True)


@pytest.mark.parametrize("given", [np.ones((2, 2), int), np.ones((2, 2), "c8"), np.ones((2, 2), "f2")])
def test_other_numbers_are_not_for_it(given: Any) -> None:
    assert triangular.substituted(given, given, True) is None
    assert triangular.substituted(given, np.ones((2, 2)), True) is None

"""Compiled kernels of whole arrays give the bits that NumPy's give: folds, orders, matrices, random numbers."""

import math
from typing import Any

import numpy as np
import pytest

from autograph_cli.torch._core.streams import generator
from autograph_cli.torch._core.streams.stream import Stream
from autograph_cli.torch._kernels import cpu
from tests.cases import for_each
from tests.torch.kernels.compared import KINDS, both, needs_compiled, numbers, odd, same, spread_out

pytestmark = needs_compiled


@for_each("kind", KINDS)
@for_each("make", [numbers, odd, lambda *of: spread_out(numbers(*of))])
@pytest.mark.parametrize(
    "shape",
    [
        (1,), (7,), (300,), (4, 4), (64, 64), (3, 1), (1, 9), (5, 130), (2, 3, 40), (2, 3, 5, 7), (0, 3), (90, 100),
        (3, 61, 100),
    ],
)  # fmt: skip
def test_reductions(kind: str, make: Any, shape: Any) -> None:
    a = make(kind, *shape)
    dims = [
        None,
        *((d,) for d in range(-1, a.ndim)),
        tuple(range(a.ndim)),
        tuple(range(a.ndim))[-2:],
        (0, a.ndim - 1)[: a.ndim],
    ]
    cases = [(d, keep) for d in dims for keep in (False, True)]

    def run() -> Any:
        return (
            *map(
                np.asarray,
                (
                    *(cpu.sum(a, *case) for case in cases),
                    *(cpu.mean(a, *case) for case in cases),
                    *(cpu.var(a, d, correction, keep) for d, keep in cases for correction in (0, 1, 1.5, 400)),
                    *(cpu.std(a, d, 1, keep) for d, keep in cases),
                    *(cpu.vector_norm(a, 2, *case) for case in cases),
                ),
            ),
        )

    both(run)


@for_each("shape", [(1, 1), (4, 4), (64, 64), (3, 1), (7, 130), (2, 3, 40), (2, 5, 3, 33), (90, 100)])
@for_each("kind", KINDS)
def test_extremes(kind: str, shape: Any) -> None:
    many = [make(kind, *shape) for make in (numbers, odd, with_zeros)]
    many += [spread_out(many[1]), np.where(many[1] > 0, many[2], -many[2])]
    dims = [None, (0,), (-1,), (-2,), (len(shape) - 2,), (0, 1), ()]

    def run() -> Any:
        cases = [(a, dim, keep) for a in many for dim in dims for keep in (False, True)]
        return tuple(np.asarray(f(*case)) for case in cases for f in (cpu.amax, cpu.amin))

    both(run)


def around(stream: Stream, mean: Any, std: float) -> Any:
    """Normal numbers around an array, whichever way they are worked out."""
    found = generator.normal_around(stream, mean, std)
    return generator.normal(stream, mean.shape, mean.dtype) * std + mean if found is None else found


def with_zeros(kind: str, *shape: int) -> Any:
    """Few numbers, many times, with zeros of both signs among them."""
    made = np.random.default_rng(5).integers(-2, 3, shape).astype(kind)
    return made * np.random.default_rng(6).choice([1, -1], shape).astype(kind)


@for_each("kind", KINDS)
@for_each("make", [numbers, odd, with_zeros, lambda *of: spread_out(odd(*of))])
@pytest.mark.parametrize("shape", [(1,), (5,), (130,), (4, 4), (64, 64), (3, 1), (40, 1), (2, 3, 40), (3, 700), (6, 0)])
def test_elements_by_their_order(kind: str, make: Any, shape: Any) -> None:
    a = make(kind, *shape)
    dims = [d for d in range(a.ndim) if a.shape[d]]

    def run() -> Any:
        return (
            *map(
                np.asarray,
                (
                    *(each for d in range(a.ndim) for down in (False, True) for each in cpu.sort(a, d, down)),
                    *(each for d in dims for keep in (False, True) for each in cpu.max_dim(a, d, keep)),
                    *(each for d in dims for keep in (False, True) for each in cpu.min_dim(a, d, keep)),
                    *(each for d in dims for keep in (False, True) for each in cpu.median_dim(a, d, keep)),
                    *(each for d in dims for k in (1, a.shape[d]) for each in cpu.kthvalue(a, k, d, False)),
                    cpu.median(a),
                ),
            ),
        )

    both(run)


@for_each("kind", [*KINDS, "int64", "int32"])
@for_each("make", [odd, with_zeros, lambda kind, *of: spread_out(with_zeros(kind, *of))])
@pytest.mark.parametrize("shape", [(), (1,), (5,), (30, 40), (2, 3, 700), (9, 9000), (0, 3)])
def test_different_elements(kind: str, make: Any, shape: Any) -> None:
    a = make("float64", *shape) if shape else np.float64(3)
    a = np.asarray((np.nan_to_num(a) + 0.0).clip(-1e6, 1e6).astype(kind))
    both(lambda: cpu.unique(a, None))
    assert cpu.unique(np.array([0.0, -0.0, math.nan, math.nan]), None)[2].tolist() == [2, 1, 1]


# ---------------------------------------------------------------- matrices


@for_each("kind", KINDS)
@pytest.mark.parametrize(
    "shape", [(4, 4), (3, 5), (5, 3), (1, 1), (2, 3, 6, 4), (70, 70), (150, 40), (0, 3), (2, 0, 0)]
)
@for_each("lay", [np.asarray, spread_out, lambda a: np.swapaxes(a.copy(), -1, -2)])
def test_factors_of_matrices(kind: str, shape: Any, lay: Any) -> None:
    a = lay(numbers(kind, *shape))
    before = a.copy()
    both(lambda: (*cpu.lu_factor(a), *map(np.ascontiguousarray, cpu.linalg_lu(a)), *cpu.linalg_qr(a)))
    assert np.array_equal(a, before)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("batch", [(), (3,), (2, 1)])
@pytest.mark.parametrize("n", [1, 4, 70])
def test_systems_of_matrices(kind: str, batch: Any, n: int) -> None:
    a, right = numbers(kind, *batch, n, n), numbers(kind, *batch, n, 3, seed=1)
    a, wide = a @ np.swapaxes(a, -1, -2) + 4 * np.eye(n, dtype=kind), spread_out(right)
    others = [(low, b) for low in (a, np.swapaxes(a, -1, -2)) for b in (right, wide, right[..., :1], right[..., :0])]

    def run() -> Any:
        return (
            *(cpu.linalg_solve_triangular(m, b, up, True, unit) for m, b in others for up in (0, 1) for unit in (0, 1)),
            *(cpu.cholesky_solve(b, m) for m, b in others),
            cpu.linalg_solve_triangular(a, numbers(kind, n, 2), True),
            *cpu.linalg_cholesky_ex(a),
            *cpu.linalg_cholesky_ex(spread_out(a), True),
            *cpu.linalg_cholesky_ex(a * np.linspace(1, -1, math.prod(batch), dtype=kind).reshape((*batch, 1, 1))),
        )

    both(run)


@pytest.mark.parametrize("kind", KINDS)
def test_matrices_without_factors(kind: str) -> None:
    a, missing = np.zeros((3, 3), kind), odd(kind, 6, 6)

    def run() -> Any:
        return (
            *cpu.linalg_cholesky_ex(-np.eye(3, dtype=kind)),
            *cpu.linalg_lu(a),
            *cpu.lu_factor(missing),
            *cpu.linalg_qr(a),
        )

    both(run)


# ---------------------------------------------------------------- random numbers


@pytest.mark.parametrize("kind", [*KINDS, "float16", "bfloat16"])
@pytest.mark.parametrize("shape", [(), (3,), (2, 8), (17,), (4, 8), (31,), (5, 1001), (0, 3)])
def test_random_numbers(monkeypatch: Any, kind: str, shape: Any) -> None:
    def run() -> Any:
        stream, dtype = Stream(7), generator.BFLOAT16 if kind == "bfloat16" else np.dtype(kind)
        bounds = ((0.0, 1.0), (-0.3, 0.7), (2.0, 2.0))
        spreads = ((0.0, 1.0), (0.0, 2.5), (1.5, 1.0), (-3.0, 0.1), (0.0, 0.0))
        chance = generator.uniform(stream, shape, dtype)
        found = (
            *(generator.uniform(stream, shape, dtype, low, high) for low, high in bounds),
            *(generator.normal(stream, shape, dtype, mean, std) for mean, std in spreads),
            generator.normal(stream, shape, dtype, 0.5, 2.0, serially=True),
            *(
                around(stream, mean, std)
                for mean in (chance, chance[..., ::2] if shape else chance)
                for std in (1.0, 2.5)
            ),
            generator.bernoulli(stream, shape, dtype, 0.3),
            generator.bernoulli(stream, shape, np.bool_, 0.3),
            generator.bernoulli_each(stream, chance, dtype),
            generator.bernoulli_each(stream, chance[..., ::2] if shape else chance, dtype),
        )
        return *(np.asarray(x).astype("float64") for x in found), stream.get_state()

    found = run()
    monkeypatch.setattr(generator, "_fast", None)
    same(found, run())


def test_numbers_that_are_no_chances_are_refused() -> None:
    with pytest.raises(RuntimeError, match="Expected p_in >= 0"):
        generator.bernoulli_each(Stream(0), np.array([0.5, math.nan], np.float32), np.float32)

"""Compiled loops over elements, rows of tables, 16-bit floats and equal elements give the bits of NumPy's way."""

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from autograph_cli.torch._arrays.sparse import Coo
from autograph_cli.torch._kernels import cpu, half_precision
from autograph_cli.torch._kernels.elements import embedding, sparse
from tests.cases import for_each
from tests.torch.kernels.compared import KINDS, both, needs_compiled, numbers, odd, spread_out

pytestmark = needs_compiled


@for_each("kind", KINDS)
@pytest.mark.parametrize("p", [1.0, 2.0, math.inf, 3.0, 0.0])
@for_each("columns", [0, 1, 7, 8, 29, 128, 300])
def test_distances(kind: str, p: float, columns: int) -> None:
    a, b = numbers(kind, 9, columns), numbers(kind, 5, columns, seed=1)
    a[2:3, columns // 2 :] = math.inf
    both(lambda: (cpu._cdist_forward(a, b, p), cpu._pdist_forward(b, p)))


@for_each("kind", KINDS)
@for_each("mode", [embedding.SUM, embedding.MEAN, embedding.MAX])
@for_each("padding", [-1, 3])
@for_each("weighted", [False, True])
def test_bags(kind: str, mode: int, padding: int, weighted: bool) -> None:
    table, made = odd(kind, 12, 7), np.random.default_rng(2)
    indices, offsets = made.integers(0, 12, 30), np.array([0, 0, 4, 11, 11, 29])
    factors = numbers(kind, 30) if weighted and mode == embedding.SUM else None
    for weight in (table, numbers(kind, 12, 7), spread_out(table)):
        args = (weight, indices, offsets, False, mode, False, factors, False, padding)
        both(lambda args=args: cpu._embedding_bag(*args)[0])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("coalesced", [False, True])
def test_sparse_products(kind: str, coalesced: bool) -> None:
    rows = np.array([0, 0, 2, 3, 3, 3] if coalesced else [3, 0, 2, 3, 0, 3])
    a = Coo(np.stack([rows, np.array([1, 4, 0, 0, 2, 3])]), numbers(kind, 6), (5, 6), coalesced)
    for b in (odd(kind, 6, 9), numbers(kind, 6), spread_out(numbers(kind, 6, 4)), -0.0 * numbers(kind, 6, 3)):
        both(lambda b=b: sparse.rows_times(a, b))


@for_each("kind", KINDS)
@for_each("mode", [0, 1, 2])
@for_each("padding", [0, 1, 2])
def test_samples_on_a_grid(kind: str, mode: int, padding: int) -> None:
    image, grid, grad = numbers(kind, 2, 3, 6, 5), numbers(kind, 2, 4, 7, 2, seed=1), numbers(kind, 2, 3, 4, 7, seed=2)
    for a in (image, odd(kind, 2, 3, 6, 5), image.swapaxes(0, 1).copy().swapaxes(0, 1), image[:0]):
        n = len(a)
        both(lambda a=a, n=n: cpu.grid_sampler(a, grid[:n], mode, padding, False))
        args = (grad[:n], a, grid[:n], mode, padding, False, np.array([True, False]))
        both(lambda args=args: cpu.grid_sampler_backward(*args))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["cummax", "cummin"])
def test_running_extremes(kind: str, name: str) -> None:
    a = odd(kind, 6, 5, 7)
    for dim in (0, 1, 2):
        both(lambda dim=dim: getattr(cpu, name)(a, dim))
    both(lambda: getattr(cpu, name)(spread_out(a), 1))


@pytest.mark.parametrize("kind", KINDS)
def test_remainders(kind: str) -> None:
    made = np.random.default_rng(4)
    a, b = (numbers(kind, 4000, seed=s) * (10.0 ** made.integers(-9, 9, 4000)).astype(kind) for s in (1, 2))
    special_ones = odd(kind, 40, 100).reshape(-1)
    for left, right in (
        (a, b),
        (special_ones, b),
        (a, special_ones),
        (a, a.dtype.type(0.7)),
        (a, a.dtype.type(np.inf)),
    ):
        both(lambda left=left, right=right: cpu.remainder(left, right))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("columns", [32, 33, 47, 48, 200])
def test_products_of_rows(kind: str, columns: int) -> None:
    a = 1 + numbers(kind, 5, 3, columns) / 8
    for dim in (None, -1, 2, 0):
        both(lambda dim=dim: np.asarray(cpu.prod(a, dim)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["erfinv", "special_ndtri", "special_bessel_j0", "special_i0e", "special_erfcx"])
def test_series(kind: str, name: str) -> None:
    inside = np.linspace(1e-7, 1 - 1e-7, 999).astype(kind)
    for a in (inside, -inside, 9 * inside, inside[:1], odd(kind, 80, 3), inside.reshape(27, 37).T):
        both(lambda a=a: getattr(cpu, name)(a))


@pytest.mark.parametrize("kind", ["float32", "int64", "int16"])
@for_each("length", [1, 16, 17, 120, 900])
@for_each("levels", [2, 30, 10**6])
def test_modes(kind: str, length: int, levels: int) -> None:
    rows = np.random.default_rng(length).integers(0, min(levels, 3 * 10**4), (6, length)).astype(kind)
    falling, organ = -np.sort(rows), np.concatenate([np.sort(rows), -np.sort(-rows)], 1)
    for a in (rows, np.sort(rows), falling, organ):
        for dim in (0, 1):
            both(lambda a=a, dim=dim: cpu.mode(a, dim, False))


def test_modes_beside_nan_and_of_numbers_that_no_float_holds() -> None:
    both(lambda: cpu.mode(odd("float32", 8, 60), 1, False))
    large = np.array([[2**60 + 1, 2**60, 2**60 + 1, 2**60, 2**60 + 1]])
    both(lambda: cpu.mode(large, 1, False))


@pytest.mark.parametrize("dtype", [np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)], ids=["half", "bfloat16"])
def test_casts_of_every_16_bits(dtype: Any) -> None:
    every = np.arange(1 << 16, dtype=np.uint16).view(dtype)
    both(lambda: half_precision.to_float32(every))
    with np.errstate(all="ignore"):
        near = every.astype(np.float32)[:, None] * np.array([1, 1 + 2.0**-9, 1 + 2.0**-12, 1 - 2.0**-9], np.float32)
    both(lambda: half_precision.cast(near, dtype).astype(np.float32))


@pytest.mark.parametrize("kind", ["int64", "int32", "int16", "uint8"])
def test_products_of_whole_numbers(kind: str) -> None:
    made = np.random.default_rng(0)
    for factor in (1, 10**5, 10**8):
        a, b = (
            made.integers(0, 100, shape).astype(kind) * np.dtype(kind).type(factor % 251)
            for shape in ((40, 50), (50, 30))
        )
        np.testing.assert_array_equal(cpu.matmul(a, b), np.matmul(a, b))
    large = np.full((40, 40), 2**31, "int64")
    np.testing.assert_array_equal(cpu.matmul(large, large), np.matmul(large, large))

"""LU factors and triangular systems by LAPACK are those that the kernels compute without it."""

from typing import Any

import numpy as np
import pytest

from autograph_cli.torch._core.running.device_dispatch import kernels
from autograph_cli.torch._kernels.matrices import lapack
from tests.cases import for_each
from tests.torch.kernels.compared import without_variants

KINDS = ("f4", "f8", "c8", "c16")


def random(shape: tuple[int, ...], kind: str) -> Any:
    made = np.random.default_rng(sum(shape))
    return (made.standard_normal(shape) + 1j * made.standard_normal(shape)).astype(kind) if kind[0] == "c" else (
        made.standard_normal(shape).astype(kind)
    )  # fmt: skip


def without(monkeypatch: pytest.MonkeyPatch, name: str, *args: Any) -> Any:
    with monkeypatch.context() as patch:
        patch.setattr(lapack, "_library", lambda: None)
        with without_variants():
            return getattr(kernels(), name)(*args)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(5, 5), (3, 4, 6), (2, 3, 7, 4), (1, 1), (64, 64)])
def test_lu_factors(shape: tuple[int, ...], kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    a = random(shape, kind)
    before = a.copy()
    got, wanted = kernels().lu_factor(a), without(monkeypatch, "lu_factor", a)
    assert np.allclose(got[0], wanted[0], rtol=1e-3, atol=1e-4)
    assert got[0].strides == wanted[0].strides
    for mine, theirs in zip(got[1:], wanted[1:], strict=True):
        assert mine.dtype == theirs.dtype
        assert np.array_equal(mine, theirs)
    assert np.array_equal(a, before)


@pytest.mark.parametrize("matrix", [np.zeros((3, 3)), np.ones((2, 2)), np.diag([1.0, 0.0, 2.0])])
def test_a_zero_pivot_is_told(matrix: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert kernels().lu_factor(matrix)[2] == without(monkeypatch, "lu_factor", matrix)[2] > 0


@for_each("kind", KINDS)
@for_each("upper", [False, True])
@for_each("unit", [False, True])
@for_each("left", [False, True])
@pytest.mark.parametrize(
    ("a", "b"), [((5, 5), (5, 3)), ((2, 5, 5), (5, 3)), ((3, 1, 4, 4), (2, 4, 1)), ((4, 4), (0, 4, 2))]
)
def test_triangular_systems(
    a: Any, b: Any, left: bool, unit: bool, upper: bool, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    matrix, right = random(a, kind) / 10, random(b, kind)
    matrix += np.eye(a[-1], dtype=kind)
    right = right if left else np.swapaxes(right, -1, -2)
    args = (matrix, right, upper, left, unit)
    got, wanted = kernels().linalg_solve_triangular(*args), without(monkeypatch, "linalg_solve_triangular", *args)
    assert np.allclose(got, wanted, rtol=1e-3, atol=1e-4)
    assert got.strides == wanted.strides


def test_integers_and_matrices_of_two_dtypes_are_not_for_it() -> None:
    assert not lapack.has(np.ones((2, 2), int))
    assert not lapack.has(np.ones((2, 2), "f4"), np.ones((2, 2), "f8"))

"""What LAPACK solves and factors is what `numpy.linalg` does, in float32 as near as its rounding allows, and the compiled
calls give the bits of the others."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autograph_cli import torch
from autograph_cli.torch._core.running.device_dispatch import kernels
from autograph_cli.torch._kernels.matrices import lapack
from tests.cases import for_each
from tests.torch.kernels.compared import without_variants

WAYS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "solve": lambda k, a, b: k.linalg_solve_ex(a, b),
    "solve from the right": lambda k, a, b: k.linalg_solve_ex(a, b.swapaxes(-1, -2), False),
    "solve for a vector": lambda k, a, b: k.linalg_solve_ex(a, b[..., 0]),
    "solve for more": lambda k, a, b: k.linalg_solve_ex(a, np.stack([b, -b])),
    "solve with more": lambda k, a, b: k.linalg_solve_ex(np.stack([a, -a]), b),
    "inverse": lambda k, a, b: k.linalg_inv_ex(a),
    "inverse of the transpose": lambda k, a, b: k.linalg_inv_ex(a.swapaxes(-1, -2)),
    "singular values": lambda k, a, b: k.linalg_svd(b, False, False)[1:2],
    "singular vectors": lambda k, a, b: map(abs, k.linalg_svd(a)),
    "all singular vectors": lambda k, a, b: map(abs, k.linalg_svd(b, True)[1:]),
    "of a wide matrix": lambda k, a, b: map(abs, k.linalg_svd(b.swapaxes(-1, -2))),
    "eigenvalues": lambda k, a, b: k.linalg_eigh(a, "L", False),
    "eigenvectors": lambda k, a, b: map(abs, k.linalg_eigh(a, "U")),
    "pseudoinverse": lambda k, a, b: [k.pinv_plain(b)],
    "least squares": lambda k, a, b: k.linalg_lstsq(b, a, None, "gelsy"),
    "least squares of many": lambda k, a, b: k.linalg_lstsq(b.swapaxes(-1, -2), b[..., :3, :], None, "gelsy"),
}


def matrices(n: int, batch: tuple[int, ...], kind: str) -> tuple[Any, Any]:
    made = np.random.default_rng(n)
    square = made.standard_normal((*batch, n, n))
    square += square.swapaxes(-1, -2) + 3 * np.diag(np.arange(n))
    return square.astype(kind), made.standard_normal((*batch, n, 3)).astype(kind)


@for_each("kind", ["f4", "f8"])
@pytest.mark.parametrize(("n", "batch"), [(3, ()), (4, (2,)), (30, ()), (20, (2, 3))])
@pytest.mark.parametrize("way", WAYS)
def test_results_are_those_of_numpy(
    way: str, n: int, batch: tuple[int, ...], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    args = matrices(n, batch, kind)
    before = [x.copy() for x in args]
    got = list(WAYS[way](kernels(), *args))
    with monkeypatch.context() as patch, without_variants():
        called = list(WAYS[way](kernels(), *args))
        patch.setattr(lapack, "_library", lambda: None)
        wanted = list(WAYS[way](kernels(), *args))
    for mine, python, theirs in zip(got, called, wanted, strict=True):
        assert mine.dtype == theirs.dtype
        assert mine.strides == theirs.strides
        assert np.array_equal(mine, python)
        assert np.allclose(mine, theirs, rtol=1e-3, atol=1e-3 if kind == "f4" else 1e-10)
    assert all(map(np.array_equal, args, before))


@pytest.mark.parametrize("n", [3, 20])
def test_a_singular_matrix_of_a_batch_is_told(n: int) -> None:
    a = np.stack([np.eye(n), np.diag(np.arange(n) != 1)]).astype("f4")
    assert kernels().linalg_inv_ex(a)[1].tolist() == [0, 2]
    x, info = kernels().linalg_solve_ex(a, np.ones((n, 1), "f4"))
    assert info.tolist() == [0, 2]
    assert np.array_equal(x[0], np.ones((n, 1)))


@pytest.mark.parametrize("n", [2, 20])
def test_nan_is_no_singular_matrix(n: int) -> None:
    a = torch.eye(n)
    a[0, 0] = float("nan")
    assert torch.linalg.inv(a).isnan().any()
    assert torch.linalg.solve(a, torch.ones(n)).isnan().any()
    a.requires_grad_()
    assert torch.autograd.grad(torch.linalg.det(a), a)[0].isnan().any()


DETERMINED = {
    "small": ([[1.0, 2.0], [3.0, 5.0]], [[5.0, -3.0], [-2.0, 1.0]]),
    "singular": ([[1.0, 2.0], [2.0, 4.0]], [[4.0, -2.0], [-2.0, 1.0]]),
    "zero": ([[0.0, 0.0], [0.0, 4.0]], [[4.0, 0.0], [0.0, 0.0]]),
    "whose determinant is no number of its dtype": ([[1e-30, 0.0], [0.0, 2e-30]], [[2e-30, 0.0], [0.0, 1e-30]]),
    "batch": (
        [[[0.0, 1.0], [1.0, 0.0]], [[1.0, 0.0], [1.0, 0.0]]],
        [[[0.0, -1.0], [-1.0, 0.0]], [[0, -1.0], [0, 1.0]]],
    ),
}


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("name", DETERMINED)
def test_the_gradient_of_a_determinant_is_the_adjugate(name: str, kind: str) -> None:
    matrix, wanted = DETERMINED[name]
    a = torch.tensor(matrix, dtype=getattr(torch, kind), requires_grad=True)
    for create in (False, True):
        (grad,) = torch.autograd.grad(torch.linalg.det(a).sum(), a, create_graph=create)
        assert np.allclose(grad.detach().numpy(), wanted, rtol=1e-5, atol=1e-6 * np.abs(wanted).max())


def test_the_rank_of_equal_columns_is_one() -> None:
    a = np.outer(np.arange(1, 31), [1, 1]).astype("f4")
    x, rest, rank, _ = kernels().linalg_lstsq(a, a[:, :1] * 2, None, "gelsy")
    assert rank == 1
    assert rest.size == 0
    assert np.allclose(x, 1, rtol=1e-5)


@pytest.mark.parametrize("batch", [(), (2, 1)])
@pytest.mark.parametrize(("scale", "rank"), [(1.0, 45), (1e-2, 45), (1e-9, 44), (0.0, 44), (math.nan, None)])
@pytest.mark.parametrize("right", [1.0, 0.0, 1e-30, 1e30])
def test_least_squares_of_many_columns(right: float, scale: float, rank: int | None, batch: tuple[int, ...]) -> None:
    made = np.random.default_rng(0)
    left, _ = np.linalg.qr(made.standard_normal((*batch, 60, 45)))
    turn, _ = np.linalg.qr(made.standard_normal((*batch, 45, 45)))
    a = (left * np.array([1.0] * 44 + [scale]) @ turn).astype("f4")
    b = (right * made.standard_normal((60, 30))).astype("f4")
    x, _, ranks, _ = kernels().linalg_lstsq(a, b, None, "gelsy")
    with without_variants():
        python = kernels().linalg_lstsq(a, b, None, "gelsy")
    assert np.array_equal(x, python[0], equal_nan=True)
    assert x.strides[-2:] == (4, 240)
    if rank is not None:
        wanted = np.linalg.pinv(a.astype("f8"), 45 * np.finfo("f4").eps) @ b
        assert np.array_equal(ranks, np.full(batch, rank))
        assert np.allclose(x, wanted, rtol=1e-3, atol=1e-3 * abs(wanted).max())

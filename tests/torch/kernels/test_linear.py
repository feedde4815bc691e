"""Products of matrices: turned round for BLAS, and by the compiled module, they are the same."""

from typing import Any

import numpy as np
import pytest

from autograph_cli.torch._kernels import cpu
from autograph_cli.torch._kernels.variants import VARIANTS
from tests.cases import for_each
from tests.torch.kernels.compared import KINDS, both, needs_compiled, numbers, spread_out


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("rows, turned", [(1, False), (2, False), (16, True), (64, True), (65, False)])
def test_a_product_of_few_rows_with_a_transposed_matrix_is_turned(rows, turned, dtype):
    rng = np.random.default_rng(0)
    a, b = rng.integers(-9, 9, (rows, 512)).astype(dtype), rng.integers(-9, 9, (256, 512)).astype(dtype).T
    assert cpu._is_turned(a, b) is turned
    found = cpu.matmul(a, b)
    assert found.flags.c_contiguous and found.dtype == dtype
    np.testing.assert_array_equal(found, a.astype("int64") @ b.astype("int64"))


@pytest.mark.parametrize("dtype", ["int64", "bool"])
def test_what_has_no_blas_is_not_turned(dtype):
    assert not cpu._is_turned(np.ones((16, 512), dtype), np.ones((256, 512), dtype).T)


FACTORS = [
    (2, 2, 2), (5, 3, 4), (33, 64, 65), (1, 4, 3), (4, 1, 3), (4, 3, 1), (0, 3, 2), (3, 0, 2), (16, 512, 128),
    (64, 200, 300), (1, 64, 33), (1, 7, 300), (1, 2, 2), (65, 300, 1), (16, 9000, 1), (1, 300, 1), (1, 1, 5),
    (5, 1, 1), (40, 1, 33),
]  # fmt: skip


def turned(a: Any) -> Any:
    """The same matrix, column by column."""
    return a.T.copy().T


@needs_compiled
@for_each("kind", KINDS)
@pytest.mark.parametrize("rows, inner, columns", FACTORS)
def test_products_of_matrices(kind: str, rows: int, inner: int, columns: int) -> None:
    left, right = numbers(kind, rows, inner), numbers(kind, inner, columns, seed=1)
    row, whole = numbers(kind, columns, seed=2), numbers(kind, rows, columns, seed=3)
    square, batch = numbers(kind, rows, rows, seed=4), numbers(kind, 3, rows, rows, seed=5)

    def run() -> Any:
        pairs = [(left, right), (turned(left), right), (left, turned(right)), (spread_out(left), right)]
        pairs += [(left, spread_out(right))]
        found = [cpu.mm(a, b) for a, b in pairs]
        found += [cpu.addmm(added, a, b) for a, b in pairs for added in (row, whole, row[:1])]
        narrow = left[:, :300]  # all of them give a product of 650 MB
        found += [cpu.mm(left, left.T), cpu.mm(narrow.T, narrow), cpu.mm(square, square)]
        found += [cpu.bmm(batch, batch), cpu.bmm(batch, batch.swapaxes(1, 2))]
        found += [
            cpu.bmm(batch[:, :1], batch),
            cpu.bmm(batch, batch[:, :, 1:2]),
            cpu.bmm(batch, batch[:, :1].swapaxes(1, 2)),
        ]
        columns_by_rows = (batch[..., :1], spread_out(batch)[..., :1], -0.0 * batch[..., :1])
        found += [
            cpu.bmm(x, y)
            for x in columns_by_rows
            for y in (batch[:, :1], batch.swapaxes(1, 2)[:, -1:], batch[::-1, :1])
        ]
        found += [cpu.mv(left, right[:, 0]), cpu.mv(turned(left), right[:, 0].copy()), cpu.mm(-0.0 * left, right)]
        return (*found, cpu.addmm(row, left, right, 2, 0.5))

    both(run)


def test_products_that_do_not_fit_are_refused() -> None:
    for a, b in (
        (numbers("float32", 2, 3), numbers("float32", 2, 3)),
        (numbers("float32", 2), numbers("float32", 3, 2)),
    ):
        with pytest.raises(ValueError):
            cpu.mm(a, b)
    with pytest.raises(ValueError):
        cpu.addmm(numbers("float32", 3), numbers("float32", 2, 2), numbers("float32", 2, 2))


@needs_compiled
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("batch", [(), (1,), (3,)])
@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("right", [False, True])
def test_what_blas_is_asked_for_has_the_bits_of_numpy(left, right, batch, dtype):
    rng = np.random.default_rng(0)
    a = rng.standard_normal((*batch, 7, 5) if left else (*batch, 5, 7)).astype(dtype)
    b = rng.standard_normal((*batch, 4, 7) if right else (*batch, 7, 4)).astype(dtype)
    a, b = np.swapaxes(a, -1, -2) if left else a, np.swapaxes(b, -1, -2) if right else b
    product = VARIANTS["matmul"].function()
    found = product(a, b)
    assert found is None or (found.shape == (*batch, 5, 4) and found.tobytes() == np.matmul(a, b).tobytes())
    assert product(a, np.swapaxes(a, -1, -2)) is None  # a matrix and itself


@pytest.mark.parametrize("rows, inner, columns", [(64, 400, 64), (16, 512, 256), (64, 512, 32), (2, 1000, 600)])
def test_a_turned_product_is_not_turned_again(rows, inner, columns):
    rng = np.random.default_rng(0)
    a = rng.standard_normal((rows, inner)).astype("float32")
    b = rng.standard_normal((columns, inner)).astype("float32").T
    expected = np.matmul(b.T, a.T).T
    np.testing.assert_array_equal(cpu.matmul(a, b), expected)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (2, 0, 1)])
def test_products_of_columns_and_rows_lie_row_by_row(kind: str, order: tuple[int, ...]) -> None:
    columns = numbers(kind, 3, 4, 1).transpose(np.argsort(order)).copy().transpose(order)
    rows = np.swapaxes(columns, 1, 2)
    found = cpu.matmul(columns, rows)
    assert found.flags.c_contiguous and found.shape == (3, 4, 4)
    np.testing.assert_array_equal(found, columns * rows)


# The shapes of three factors, the dimensions that each lacks, and those that are summed.
THREE = [
    ((3, 4), (6, 4, 5), (3, 5), ((1, 3), (0,), (1, 2)), (2, 3)),
    ((3, 6), (6, 4, 5), (3, 5), ((2, 3), (0,), (1, 2)), (1, 3)),
    ((3, 4), (3, 6), (3, 5), ((1, 3), (2, 3), (1, 2)), (0,)),
    ((0, 4), (6, 4, 5), (0, 5), ((1, 3), (0,), (1, 2)), (2, 3)),
    ((3, 4), (6, 4, 1), (3, 5), ((1, 3), (0,), (1, 2)), (2, 3)),
    ((3, 4), (6,), (5,), ((1, 3), (0, 2, 3), (0, 1, 2)), (2, 3)),
]


@pytest.mark.parametrize("kind", ["float16", "float32", "float64", "int64"])
@pytest.mark.parametrize("a, b, c, without, summed", THREE)
def test_three_tensors_are_multiplied_two_at_a_time(
    a: Any, b: Any, c: Any, without: Any, summed: Any, kind: str
) -> None:
    factors = [np.round(numbers("float64", *shape, seed=i) * 3).astype(kind) for i, shape in enumerate((a, b, c))]
    found = cpu._trilinear(*factors, *without, summed)
    axes = [[d for d in range(4) if d not in each] for each in without]
    given = [x for pair in zip(factors, axes, strict=True) for x in pair]
    wanted = np.einsum(*given, [d for d in range(4) if d not in summed], dtype="float64", casting="unsafe")
    np.testing.assert_allclose(found, wanted, rtol=1e-3 if kind == "float16" else 0)
    assert found.dtype == kind
    assert found.strides == np.empty(found.shape, kind).strides or found.flags.c_contiguous


SUMS = [(5, 3, 4), (64, 16, 512), (128, 16, 512), (33, 128, 65), (64, 200, 300)]


@needs_compiled
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows, inner, columns", SUMS)
def test_a_product_is_added_to_a_sum_in_the_bits_of_a_product_and_a_sum(
    kind: str, rows: int, inner: int, columns: int
) -> None:
    left, right = numbers(kind, rows, inner), numbers(kind, inner, columns, seed=1)
    start = numbers(kind, rows, columns, seed=2)
    readable = [(left, right), (turned(left), right), (left, turned(right))]
    for a, b in readable:
        total = start.copy()
        assert cpu.add_product(total, a, b) is (inner <= 128)
        np.testing.assert_array_equal(total, start + cpu.mm(a, b) if inner <= 128 else start)
    for total in (start[:, :-1], start.T, start[0], turned(start), start.astype("float16")):
        kept = total.copy()
        assert not cpu.add_product(total, left, right)
        np.testing.assert_array_equal(total, kept)
    assert not cpu.add_product(start.copy(), spread_out(left), right)

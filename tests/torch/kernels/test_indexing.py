"""Reading and writing by index: by positions in memory, and as NumPy does it."""

import numpy as np
import pytest

from autograph_cli.torch._kernels import cpu
from autograph_cli.torch._kernels.elements.indexing import all_below

A = np.arange(24.0).reshape(2, 3, 4)


@pytest.mark.parametrize("kind", ["int64", "int32", "uint8"])
def test_all_below_is_told_without_signs(kind):
    assert all_below(np.array([[0, 1], [2, 0]], kind).T, 3)
    assert not all_below(np.array([0, 3], kind), 3)


def test_negative_integers_are_not_below():
    assert not all_below(np.array([0, -1]), 3)


@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("a", [A, A.transpose(2, 0, 1), A[:, ::2]], ids=["dense", "transposed", "gaps"])
@pytest.mark.parametrize("kind", ["int64", "int32"])
def test_gather_is_take_along_axis(a, dim, kind):
    rng = np.random.default_rng(0)
    index = rng.integers(0, a.shape[dim], a.shape).astype(kind)
    np.testing.assert_array_equal(cpu.gather(a, dim, index), np.take_along_axis(a, index, dim))
    smaller = index[tuple(slice(1 if d != dim else None) for d in range(a.ndim))]
    np.testing.assert_array_equal(
        cpu.gather(a, dim, smaller),
        np.take_along_axis(a, index, dim)[: smaller.shape[0], : smaller.shape[1], : smaller.shape[2]],
    )


def test_gather_counts_from_the_end():
    index = np.full(A.shape, -1)
    np.testing.assert_array_equal(cpu.gather(A, 1, index), np.take_along_axis(A, index, 1))


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_scatter_writes_and_adds_where_the_index_says(dim):
    rng = np.random.default_rng(0)
    index = rng.integers(0, A.shape[dim], A.shape)
    source = rng.integers(0, 99, A.shape).astype(A.dtype)
    written, added, filled = A.copy(), A.copy(), A.copy()
    for at in np.ndindex(A.shape):
        to = (*at[:dim], index[at], *at[dim + 1 :])
        written[to], filled[to] = source[at], 7
        added[to] += source[at]
    np.testing.assert_array_equal(cpu.scatter_src(A, dim, index, source), written)
    np.testing.assert_array_equal(cpu.scatter_add(A, dim, index, source), added)
    np.testing.assert_array_equal(cpu.scatter_value(A, dim, index, 7), filled)


def test_one_number_is_read_and_changed_as_a_row_of_one():
    a, zero, two = np.array(1.0), np.array(0), np.array(2.0)
    assert (cpu.scatter_add(a, 0, zero, two), cpu.scatter_src(a, 0, zero, two), cpu.gather(a, 0, zero)) == (3, 2, 1)
    x = np.arange(3.0)
    assert cpu.scatter_add(x[0:1].reshape(()), 0, np.zeros(2, int)[0:1].reshape(()), x[1:2].reshape(())) == 1


def test_scatter_leaves_the_rest_of_a_larger_source():
    found = cpu.scatter_src(A, 2, np.array([[[3, 0]]]), -1 - A)
    assert found[0, 0].tolist() == [-2.0, 1.0, 2.0, -1.0]
    np.testing.assert_array_equal(found[1], A[1])


@pytest.mark.parametrize("shape", [(1,), (300,), (4, 4), (64, 64), (2, 3, 5), (3, 1, 4, 2), (0, 3), (3, 0), (2,) * 12])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_nonzero_is_of_each_dimension(shape, share):
    mask = np.random.default_rng(0).random(shape) < share
    spread = np.zeros((*shape[:-1], 2 * shape[-1]), bool)[..., ::2]
    spread[...] = mask
    bytes_of = (mask * np.uint8(200)).view(bool)  # a truth is any byte but 0
    wanted = np.stack(mask.nonzero(), -1)
    for a in (mask, spread, mask.astype("float32"), bytes_of):
        found = cpu.nonzero(a)
        np.testing.assert_array_equal(found, wanted)
        assert found.dtype == "int64"
        assert found.size == 0 or found.strides == np.stack(mask.nonzero()).T.strides


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (2, 0, 1), (2, 1, 0)])
def test_what_is_taken_lies_in_the_order_of_its_indices_whatever_those_of_the_index(order):
    index = np.arange(24).reshape(2, 3, 4).transpose(order)
    found = cpu.take(A, index)
    assert found.flags.c_contiguous
    np.testing.assert_array_equal(found, index)

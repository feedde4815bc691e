"""Products of matrices: turned round for BLAS, they are the same."""

import numpy as np
import pytest

from autograph_cli.torch._kernels import cpu


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

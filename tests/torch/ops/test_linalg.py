"""Linear algebra: what fails says so in PyTorch's words, and every gradient is the slope."""

import math

import pytest

from autograph_cli import torch
from tests.cases import for_each

ERRORS = {
    "torch.linalg.inv(z)": "linalg.inv: The diagonal element 1 is zero, the inversion could not be completed",
    "torch.linalg.inv(b)": "linalg.inv: (Batch element 1): The diagonal element 1 is zero",
    "torch.linalg.solve(z, z)": "torch.linalg.solve: The solver failed because the input matrix is singular.",
    "torch.linalg.cholesky(-b)": "linalg.cholesky: (Batch element 0): The factorization could not be completed because",
    "torch.cholesky(-b[0])": "cholesky: The factorization could not be completed because the input is not positive-definite",
}
REFUSED = {
    "torch.linalg.inv(v)": "linalg.inv: The input tensor A must have at least 2 dimensions.",
    "torch.linalg.det(r)": "linalg.det: A must be batches of square matrices, but they are 3 by 2 matrices",
    "torch.linalg.solve(z, r)": "linalg.solve: Incompatible shapes of A and B for the equation AX = B (2x2 and 3x2)",
    "torch.linalg.qr(r, mode='x')": "qr received unrecognized mode 'x'",
    "torch.linalg.matrix_norm(r, 3)": "linalg.matrix_norm: Order 3 not supported.",
    "torch.linalg.multi_dot([r])": "multi_dot(): expected at least 2 tensors but got 1",
    "torch.einsum('ij,jk->ik', r, r)": "einsum(): subscript j has size 3 for operand 1 which does not broadcast",
    "torch.einsum('ij->ik', r)": "einsum(): output subscript k does not appear in the equation for any input operand",
    "torch.linalg.lu_factor(z)": "torch.linalg.lu_factor: U[1,1] is zero",
    "torch.cdist(r, v[None])": "X1 and X2 must have the same number of columns. X1: 2 X2: 3",
    "torch.fft.fft(v, norm='x')": 'Invalid normalization mode: "x"',
    "torch.istft(r, 4)": "istft requires a complex-valued input tensor",
}


def run(code):
    scope = {"torch": torch, "z": torch.zeros(2, 2), "v": torch.ones(3), "r": torch.ones(3, 2)}
    scope["b"] = torch.stack([torch.eye(2), torch.zeros(2, 2)])
    return eval(code, scope)


@pytest.mark.parametrize("code", ERRORS)
def test_a_matrix_without_the_factor_raises_a_linalg_error(code):
    with pytest.raises(torch.linalg.LinAlgError) as raised:
        run(code)
    assert str(raised.value).startswith(ERRORS[code])
    assert isinstance(raised.value, RuntimeError)


@pytest.mark.parametrize("code", REFUSED)
def test_wrong_arguments_are_refused(code):
    with pytest.raises(RuntimeError) as raised:
        run(code)
    assert str(raised.value).startswith(REFUSED[code])


def matrix(rows, columns, kind=torch.float64):
    torch.manual_seed(rows + 10 * columns)
    return (torch.randn(rows, columns, dtype=kind) + 2 * torch.eye(rows, columns, dtype=kind)).requires_grad_()


DIFFERENTIABLE = {
    "tall LU": lambda a: torch.linalg.lu(a)[1],
    "QR": lambda a: torch.linalg.qr(a)[1],
    "singular vectors": lambda a: torch.linalg.svd(a, full_matrices=False)[0].abs(),
    "pseudoinverse": torch.linalg.pinv,
    "least squares": lambda a: torch.linalg.lstsq(a, a * a).solution,
    "reflectors": lambda a: torch.linalg.householder_product(a, a[0] / 3),
    "reflected": lambda a: torch.ormqr(a, a[0] / 3, a, transpose=True),
    "condition": torch.linalg.cond,
}


@pytest.mark.parametrize("kind", [torch.float64, torch.complex128])
@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients_are_slopes(name, kind):
    assert torch.autograd.gradcheck(DIFFERENTIABLE[name], (matrix(4, 3, kind),))


@pytest.mark.parametrize("name", ["QR", "pseudoinverse", "reflectors", "least squares"])
def test_second_gradients_are_slopes(name):
    assert torch.autograd.gradgradcheck(DIFFERENTIABLE[name], (matrix(4, 3),))


def test_the_gradient_of_a_singular_determinant_is_the_adjugate():
    a = torch.tensor([[1.0, 2.0], [2.0, 4.0]], dtype=torch.float64, requires_grad=True)
    (g,) = torch.autograd.grad(torch.det(a), a, create_graph=True)
    assert torch.allclose(g, torch.tensor([[4.0, -2.0], [-2.0, 1.0]], dtype=torch.float64))


def test_a_symmetric_matrix_is_solved_by_its_ldl_factors():
    torch.manual_seed(0)
    a = torch.randn(2, 6, 6, dtype=torch.float64)
    a = a + a.mT
    b = torch.randn(2, 6, 2, dtype=torch.float64)
    x = torch.linalg.ldl_solve(*torch.linalg.ldl_factor(a), b)
    assert torch.allclose(a @ x, b)
    assert (torch.linalg.ldl_factor(a).pivots < 0).any()


def test_results_show_themselves_as_named_tuples():
    assert (
        repr(torch.linalg.slogdet(torch.eye(2)))
        == "torch.return_types.linalg_slogdet(\nsign=tensor(1.),\nlogabsdet=tensor(0.))"
    )


def test_results_go_into_given_tensors():
    values, vectors = torch.empty(0), torch.empty(0)
    torch.linalg.eigh(torch.eye(2), out=(values, vectors))
    assert values.tolist() == [1.0, 1.0] and vectors.shape == (2, 2)


def test_approximations_of_low_rank_find_what_is_there():
    torch.manual_seed(0)
    a = torch.randn(8, 2, dtype=torch.float64) @ torch.randn(2, 6, dtype=torch.float64)
    u, s, v = torch.svd_lowrank(a, q=3)
    assert torch.allclose(u @ torch.diag(s) @ v.mT, a)
    assert s[2] < 1e-12


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32, torch.float64, torch.int64], ids=str)
def test_products_keep_the_dtype(dtype):
    a, b = torch.ones(2, 3, dtype=dtype), torch.ones(3, 2, dtype=dtype)
    made = [
        a @ b, a[None].bmm(b[None]), a @ b[:, 0], a[0] @ b[:, 0], torch.addmm(a[:, :2], a, b),
        torch.einsum("ij,jk", a, b),
    ]  # fmt: skip
    assert {x.dtype for x in made} == {dtype}


@pytest.mark.parametrize("name", ["conv", "transposed", "resized", "pooled"])
def test_layers_keep_bfloat16_both_ways(name):
    f = torch.nn.functional
    x = torch.ones(1, 2, 5, 5, dtype=torch.bfloat16, requires_grad=True)
    run = {
        "conv": lambda: f.conv2d(x, torch.ones(3, 2, 3, 3, dtype=torch.bfloat16)),
        "transposed": lambda: f.conv_transpose2d(x, torch.ones(2, 3, 3, 3, dtype=torch.bfloat16)),
        "resized": lambda: f.interpolate(x, scale_factor=2, mode="bilinear"),
        "pooled": lambda: f.adaptive_avg_pool2d(x, 2),
    }[name]
    made = run()
    made.sum().backward()
    assert made.dtype == x.grad.dtype == torch.bfloat16


@pytest.mark.parametrize("n", [1, 2, 5, 8, 300])
def test_the_first_minor_that_is_not_positive_is_told(n):
    for bad in {0, n // 2, n - 1}:
        diagonal = torch.ones(n)
        diagonal[bad] = -1
        matrices = torch.stack([torch.diag(diagonal), torch.eye(n)])
        assert torch.linalg.cholesky_ex(matrices).info.tolist() == [bad + 1, 0]
        with pytest.raises(torch.linalg.LinAlgError, match=f"leading minor of order {bad + 1} is not positive"):
            torch.linalg.cholesky(matrices[0])


@for_each("dtype", [torch.float32, torch.float64, torch.complex64])
@for_each("n", [1, 3, 70])
@for_each("size", [1e-3, 0.2, 0.8, 1.9, 3.0, 5.0, 20.0])
def test_exponentials_of_all_sizes(size: float, n: int, dtype: torch.dtype) -> None:
    torch.manual_seed(n)
    a = torch.randn(2, n, n, dtype=torch.float64)
    a = a + a.mT
    values, vectors = torch.linalg.eigh(a)
    values = values / values.abs().max() * size
    a = ((vectors * values[:, None]) @ vectors.mT).to(dtype)
    wanted = ((vectors * values.exp()[:, None]) @ vectors.mT).to(dtype)
    found = torch.linalg.matrix_exp(a)
    assert found.stride() == (n * n, n, 1)
    assert (found - wanted).abs().max() <= 200 * torch.finfo(dtype).eps * math.exp(size)


def test_exponentials_without_an_end() -> None:
    a = torch.tensor([[math.inf, 1.0], [0.0, 1.0]])
    assert torch.linalg.matrix_exp(a).isnan().all()
    assert torch.linalg.matrix_exp(torch.full((2, 2), 1e4)).isinf().all()
    assert torch.linalg.matrix_exp(torch.tensor([[math.inf]])) == math.inf


def test_an_exponential_next_to_one_without_an_end() -> None:
    a = torch.stack([torch.full((2, 2), math.nan), 20 * torch.eye(2), torch.full((2, 2), math.inf)]).double()
    found = torch.linalg.matrix_exp(a)
    assert found.isnan().tolist() == [[[x] * 2] * 2 for x in (True, False, True)]
    assert found[1, 0, 0].item() == pytest.approx(math.exp(20), rel=1e-13)


def test_an_exponential_of_blocks_of_very_different_sizes() -> None:
    """As the gradient asks for it: zeros stay zeros, and a huge block does not touch the others."""
    block = torch.tensor([[18.6, 3.94], [2.62, 0.0155]], dtype=torch.float64)
    huge = torch.tensor([[1e9, 2e9], [3e9, 1e9]], dtype=torch.float64)
    whole = torch.cat([torch.cat([block, huge], 1), torch.cat([torch.zeros_like(block), block], 1)])
    found, wanted = torch.linalg.matrix_exp(whole), torch.linalg.matrix_exp(block)
    assert not found[2:, :2].any()
    assert (found[:2, :2] / wanted - 1).abs().max() < 1e-6


@pytest.mark.parametrize("n", [3, 20])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_solutions_lie_column_by_column_where_sides_are_1(n: int, dtype: torch.dtype) -> None:
    a = 2 * torch.eye(n, dtype=dtype)
    assert torch.linalg.solve(a, torch.ones(n, 1, dtype=dtype)).stride() == (1, n)
    assert torch.linalg.solve(a[None], torch.ones(1, n, 3, dtype=dtype)).stride() == (3 * n, 1, n)
    assert torch.linalg.inv(a[None, None]).stride() == (n * n, n * n, 1, n)


@pytest.mark.parametrize("kind", [torch.float32, torch.float64, torch.complex64])
@pytest.mark.parametrize(
    ("driver", "rcond"),
    [("gels", 0.5), ("gels", 2.0), ("gelsd", -1.0), ("gelsd", 0.0), ("gelsd", 1.0), ("gelsd", 2.0), ("gelss", -1.0)],
)
def test_least_squares_pass_over_an_rcond_that_their_driver_does_not_read(driver, rcond, kind):
    a = torch.tensor([[2.0, 1, 0], [1, 1, 1], [0, 1, 2.05]], dtype=kind)
    wanted = torch.tensor([[19.0], [-37.0], [20.0]], dtype=kind)
    found = torch.linalg.lstsq(a, torch.tensor([[1.0], [2], [4]], dtype=kind), rcond=rcond, driver=driver)
    assert torch.allclose(found.solution, wanted, rtol=1e-3)

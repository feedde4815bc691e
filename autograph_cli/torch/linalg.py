"""Linear algebra, as `torch.linalg` names it.

>>> from autograph_cli import torch
>>> torch.linalg.norm(torch.tensor([3.0, 4.0]))
tensor(5.)
"""
# ruff: noqa: F401  (names are here to be found)

from __future__ import annotations

from ._core.operations.registry import functions, with_out
from ._ops.matrices import (
    decompositions as _decompositions,
    determinants as _determinants,
    ldl as _symmetric,
    lu as _lu,
    products as _products,
    solvers as _solvers,
)
from ._ops.matrices._errors import LinAlgError
from ._ops.reducing import norms as _norms

det, slogdet = with_out(_determinants.det), with_out(_determinants.slogdet)
matmul, householder_product = functions["matmul"], functions["orgqr"]
cross, diagonal = with_out(_products.linalg_cross), _products.linalg_diagonal
multi_dot, vander, vecdot = _products.multi_dot, _products.vander, with_out(_products.vecdot)
cholesky, cholesky_ex = with_out(_decompositions.linalg_cholesky), with_out(_decompositions.linalg_cholesky_ex)
qr, svd = with_out(_decompositions.linalg_qr), with_out(_decompositions.linalg_svd)
svdvals, eigh, eigvalsh, eig, eigvals = (
    with_out(getattr(_decompositions, _name)) for _name in ("svdvals", "eigh", "eigvalsh", "eig", "eigvals")
)
lu, lu_solve, lu_factor, lu_factor_ex = (
    with_out(getattr(_lu, _name)) for _name in ("linalg_lu", "linalg_lu_solve", "lu_factor", "lu_factor_ex")
)
(
    solve,
    solve_ex,
    solve_triangular,
    inv,
    inv_ex,
    pinv,
    lstsq,
    matrix_exp,
    matrix_power,
    tensorinv,
    tensorsolve,
) = (
    with_out(getattr(_solvers, _name))
    for _name in tuple(
        """
        solve solve_ex solve_triangular inv inv_ex pinv lstsq matrix_exp matrix_power tensorinv tensorsolve
        """.split()
    )
)
norm, vector_norm, matrix_norm, cond, matrix_rank = (
    with_out(getattr(_norms, _name)) for _name in ("norm", "vector_norm", "matrix_norm", "cond", "matrix_rank")
)
ldl_factor, ldl_factor_ex, ldl_solve = (
    with_out(getattr(_symmetric, _name)) for _name in ("ldl_factor", "ldl_factor_ex", "ldl_solve")
)

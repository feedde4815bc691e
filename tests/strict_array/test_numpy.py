"""Where the engine asks for NumPy: each use below `_core`, `_ops` and `_kernels` has a reason, and none is given arrays of
another library."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import autograph_cli.torch
from autograph_cli import torch

ROOT = Path(autograph_cli.torch.__file__).parent
PLAIN = frozenset(
    (
        "dtype", "finfo", "iinfo", "float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16",
        "uint32", "uint64", "bool_", "complex64", "complex128", "floating", "integer", "complexfloating", "inexact",
        "number", "nan", "inf", "pi", "e", "newaxis", "errstate", "result_type", "promote_types", "can_cast",
        "broadcast_shapes", "ndindex", "ufunc", "exceptions", "issubdtype", "True_", "False_",
    )
)  # fmt: skip
"""What computes nothing: dtypes, numbers, shapes and settings."""
GIVEN = "what a script gives, or asks for, is NumPy's, or a list"
FRESH = "makes an array for the CPU, in a branch for it or moved afterwards"
BRANCH = "stands behind a check that the array is NumPy's"
DRAWN = "random numbers of the CPU's stream"
HOST = "reads elements that were copied to the host"
TABLE = "positions or coefficients, worked out once on the CPU (`placed` copies them)"
REFUSED = "a GPU has no such arrays: they are refused"
SIZES = "of sizes, not of elements"
ERRORS = "the class of an error"
COMPUTES: dict[str, tuple[int, str]] = {
    "_core/tape/anomalies.py": (1, HOST),
    "_core/running/device_dispatch.py": (2, FRESH),
    "_core/running/dispatch.py": (1, BRANCH),
    "_core/base/dtypes.py": (5, GIVEN),
    "_core/tape/formatting.py": (7, HOST),
    "_core/transforms/forward.py": (1, BRANCH),
    "_core/base/fp_warnings.py": (5, "NumPy's own warnings"),
    "_core/streams/generator.py": (39, DRAWN),
    "_core/running/gradients.py": (1, "one array, to count its references"),
    "_core/running/overlapping.py": (1, BRANCH),
    "_core/streams/philox.py": (3, "the bytes of a state"),
    "_core/tape/saved_attributes.py": (1, BRANCH),
    "_core/tape/shared_memory.py": (2, "memory that processes share, of the CPU"),
    "_core/streams/stream.py": (7, DRAWN),
    "_core/tape/tensor.py": (2, BRANCH),
    "_core/running/views.py": (4, "positions in memory; single numbers"),
    "_ops/tensors/_data.py": (5, GIVEN),
    "_ops/shaping/as_strided.py": (2, TABLE),
    "_ops/tensors/creation.py": (2, GIVEN),
    "_ops/random_numbers/dropout.py": (2, "a number, which goes with the call"),
    "_ops/positions/gather_scatter.py": (2, BRANCH),
    "_ops/positions/getitem.py": (2, "positions of one number"),
    "_ops/positions/histograms.py": (8, "of a GPU refused, as in PyTorch; its edges are those of sizes"),
    "_ops/positions/indexing.py": (1, "a number"),
    "_ops/tensors/legacy.py": (2, GIVEN),
    "_ops/pointwise/nonlinear.py": (1, DRAWN),
    "_ops/tensors/other_libraries.py": (1, GIVEN),
    "_ops/tensors/protocols.py": (3, GIVEN),
    "_ops/tensors/ranges.py": (1, "an array without elements, for its dtype"),
    "_ops/positions/sorting.py": (1, "an array without elements, for its dtype"),
    "_ops/tensors/sparse.py": (5, REFUSED),
    "_ops/shaping/split_join.py": (3, TABLE),
    "_ops/tensors/untyped_storage.py": (2, "the bytes of a file or of Python's memory, of the CPU"),
    "_kernels/layers/attention.py": (2, SIZES),
    "_kernels/blockwise.py": (1, BRANCH),
    "_kernels/elements/embedding.py": (3, BRANCH),
    "_kernels/elementwise/gaussian.py": (5, TABLE),
    "_kernels/elements/indexing.py": (6, BRANCH),
    "_kernels/composed.py": (25, "compiled kernels, of the CPU alone"),
    "_kernels/inplace.py": (1, BRANCH),
    "_kernels/layers/interpolate.py": (27, TABLE),
    "_kernels/layers/lines.py": (7, TABLE),
    "_kernels/matrices/lapack.py": (15, BRANCH),
    "_kernels/matrices/lapack_solvers.py": (48, BRANCH),
    "_kernels/matrices/linalg.py": (4, ERRORS),
    "_kernels/matrices/lu.py": (1, ERRORS),
    "_kernels/meta_kernels.py": (10, "the device `meta`"),
    "_kernels/reducing/order_statistics.py": (6, BRANCH),
    "_kernels/layers/padding.py": (7, TABLE),
    "_kernels/layers/pooling.py": (24, TABLE),
    "_kernels/random_numbers/random.py": (5, DRAWN),
    "_kernels/random_numbers/random_variates.py": (2, DRAWN),
    "_kernels/reducing/reduction.py": (3, BRANCH),
    "_kernels/reducing/selection.py": (5, BRANCH),
    "_kernels/elements/shapes.py": (2, TABLE),
    "_kernels/threads.py": (1, BRANCH),
    "_kernels/elements/sparse.py": (52, REFUSED),
    "_kernels/elementwise/binary.py": (6, BRANCH),
    "_kernels/elementwise/pointwise.py": (10, BRANCH),
    "_kernels/elementwise/special.py": (1, BRANCH),
    "_kernels/reducing/sums.py": (1, BRANCH),
    "_kernels/matrices/triangular.py": (6, BRANCH),
}
NUMBER = "numbers of NumPy are Python's kind of number"
QUICK = "a quick path for the CPU, beside one for all"
CLASSES: dict[str, tuple[int, str]] = {
    "_core/passes/backward_pass.py": (5, QUICK),
    "_core/running/device_dispatch.py": (4, QUICK),
    "_core/running/dispatch.py": (3, NUMBER),
    "_core/tape/formatting.py": (3, NUMBER),
    "_core/running/gradients.py": (7, QUICK),
    "_core/running/inplace.py": (3, QUICK),
    "_core/base/memory_format.py": (5, QUICK),
    "_core/tape/node.py": (3, QUICK),
    "_core/arguments/operands.py": (2, NUMBER),
    "_core/running/overlapping.py": (1, QUICK),
    "_core/arguments/parsing.py": (5, NUMBER),
    "_core/tape/saved_tensors.py": (1, QUICK),
    "_core/tape/shared_memory.py": (2, GIVEN),
    "_core/tape/tensor.py": (2, QUICK),
    "_core/running/views.py": (4, QUICK),
    "_core/tape/wrapped_numbers.py": (2, NUMBER),
    "_ops/tensors/_data.py": (11, NUMBER),
    "_ops/positions/_index_checks.py": (1, QUICK),
    "_ops/pointwise/comparison.py": (1, GIVEN),
    "_ops/tensors/creation.py": (8, GIVEN),
    "_ops/layers/embedding.py": (1, QUICK),
    "_ops/positions/gather_scatter.py": (2, QUICK),
    "_ops/positions/getitem.py": (6, QUICK),
    "_ops/positions/indexing.py": (1, GIVEN),
    "_ops/tensors/legacy.py": (2, GIVEN),
    "_ops/tensors/other_libraries.py": (1, GIVEN),
    "_ops/tensors/protocols.py": (1, GIVEN),
    "_ops/tensors/untyped_storage.py": (1, GIVEN),
    "_kernels/blockwise.py": (1, QUICK),
    "_kernels/elements/conversion.py": (3, QUICK),
    "_kernels/layers/convolution.py": (3, QUICK),
    "_kernels/gpu/cuda_kernels.py": (1, QUICK),
    "_kernels/elements/embedding.py": (4, QUICK),
    "_kernels/elements/indexing.py": (5, QUICK),
    "_kernels/inplace.py": (2, QUICK),
    "_kernels/matrices/lapack.py": (1, QUICK),
    "_kernels/layers/lines.py": (1, QUICK),
    "_kernels/layers/losses.py": (1, QUICK),
    "_kernels/matrices/linear.py": (3, QUICK),
    "_kernels/matrices/lu.py": (2, QUICK),
    "_kernels/meta_kernels.py": (2, "the device `meta`"),
    "_kernels/elementwise/near_zero.py": (1, QUICK),
    "_kernels/reducing/order_statistics.py": (1, QUICK),
    "_kernels/layers/padding.py": (1, QUICK),
    "_kernels/layers/pooling.py": (2, QUICK),
    "_kernels/reducing/reduction.py": (2, QUICK),
    "_kernels/reducing/selection.py": (1, QUICK),
    "_kernels/elements/shapes.py": (9, QUICK),
    "_kernels/elementwise/special.py": (1, QUICK),
    "_kernels/reducing/sums.py": (1, QUICK),
    "_kernels/threads.py": (4, QUICK),
    "_kernels/matrices/triangular.py": (1, QUICK),
    "_kernels/elementwise/binary.py": (1, QUICK),
    "_kernels/elementwise/pointwise.py": (2, QUICK),
}


def uses() -> tuple[Counter[str], Counter[str]]:
    """Return how often each file computes with NumPy, and asks for its classes."""
    computes: Counter[str] = Counter()
    classes: Counter[str] = Counter()
    for folder in ("_core", "_ops", "_kernels"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "np":
                    kind = classes if node.attr in ("ndarray", "generic") else computes
                    kind[path.relative_to(ROOT).as_posix()] += node.attr not in PLAIN
    return +computes, +classes


def test_each_computation_with_numpy_has_a_reason() -> None:
    assert uses()[0] == {file: count for file, (count, _) in COMPUTES.items()}


def test_each_question_for_a_class_of_numpy_has_a_reason() -> None:
    assert uses()[1] == {file: count for file, (count, _) in CLASSES.items()}


def x() -> Any:
    return torch.arange(6.0, device="cuda").reshape(2, 3)


def positions() -> Any:
    return torch.tensor([1, 0], device="cuda")


F = torch.nn.functional
ASKED_NUMPY: dict[str, Callable[[], Any]] = {
    "embedding with max_norm": lambda: F.embedding(positions(), x(), max_norm=1.0),
    "_chunk_cat": lambda: torch._chunk_cat([x(), x()], 0, 2),
    "empty_permuted": lambda: torch.empty_permuted((2, 3), (1, 0), device="cuda").zero_(),
    "binomial": lambda: torch.binomial(x() + 1, x() * 0 + 1),
    "set_": lambda: x().set_(),
    "masked_select of samples": lambda: torch.vmap(lambda a: torch.masked_select(a, x()[0] > 0))(x()),
    "take_along_dim from behind": lambda: torch.take_along_dim(x(), -positions()[:, None], 1),
    "isin a number": lambda: torch.isin(x(), 2.0),
    "an index of samples": lambda: torch.vmap(lambda a, i: a[i])(x(), positions()),
    "attention with a mask, causal": lambda: F.scaled_dot_product_attention(
        x()[None, None], x()[None, None], x()[None, None], torch.zeros(2, 2, device="cuda"), is_causal=True
    ),
    "the second derivative of gelu": lambda: torch.func.hessian(lambda a: F.gelu(a).sum())(x()),
    "the second derivative of softmax": lambda: torch.func.hessian(lambda a: F.softmax(a, 0).pow(2).sum())(x()),
    "a mask twice": lambda: torch.func.hessian(lambda a: a[x() > 2].pow(3).sum())(x()),
}


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("name", ASKED_NUMPY)
def test_it_gives_on_a_gpu_what_it_gives_on_the_cpu(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = ASKED_NUMPY[name]()
    assert found.is_cuda
    made, tensor = torch.arange, torch.tensor
    here = {"device": "cpu"}
    with monkeypatch.context() as on_cpu:
        on_cpu.setattr(torch, "arange", lambda *a, **k: made(*a, **{**k, **here}))
        on_cpu.setattr(torch, "tensor", lambda *a, **k: tensor(*a, **{**k, **here}))
        on_cpu.setattr(torch, "zeros", lambda *a, _zeros=torch.zeros, **k: _zeros(*a, **{**k, **here}))
        on_cpu.setattr(torch, "empty_permuted", lambda *a, _make=torch.empty_permuted, **k: _make(*a, **{**k, **here}))
        expected = ASKED_NUMPY[name]()
    assert torch.allclose(found.cpu(), expected, equal_nan=True)


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.arange(5, device="cuda"),
        lambda: torch.arange(0, 1, 0.1, device="cuda"),
        lambda: torch.linspace(0, 1, 5, device="cuda"),
        lambda: torch.logspace(0, 1, 5, device="cuda"),
        lambda: torch.eye(3, device="cuda"),
        lambda: torch.tril_indices(3, 3, device="cuda"),
        lambda: torch.zeros(3, device="cuda"),
        lambda: torch.full((3,), 2.0, device="cuda"),
        lambda: torch.func.jacrev(lambda a: a * a)(torch.ones(3, device="cuda")),
    ],
)
def test_what_is_made_on_a_gpu_is_not_copied_there(make: Callable[[], Any], transfers: dict[str, int]) -> None:
    assert make().is_cuda
    assert dict(transfers) == {}

"""16-bit floats are added up in float32 and rounded once; the numbers are those of PyTorch 2.13 on the CPU."""

import pytest

from autograph_cli import torch
from tests.cases import for_each

F = torch.nn.functional
ONES = 3000


def gradient(f, *shape, dtype):
    leaf = torch.zeros(shape, dtype=dtype, requires_grad=True)
    f(leaf).sum().backward()
    return leaf.grad


CASES = {
    "sum": lambda x: x.sum(),
    "sum by rows": lambda x: x.sum(0)[0] * 2,
    "mean": lambda x: x.mean() * 6000,
    "a mean whose sum overflows": lambda x: (x * 100).mean() * 60,
    "nansum": lambda x: x.nansum(),
    "norm": lambda x: x.norm(p=1),
    "last of cumsum": lambda x: x.cumsum(0)[-1].sum(),
    "logsumexp": lambda x: x.logsumexp((0, 1)) / x.logsumexp((0, 1)) * 6000,
    "softmax": lambda x: x.softmax(0).sum() * 3000,
    "log_softmax": lambda x: x.log_softmax(0).exp().sum() * 3000,
    "average pool": lambda x: F.avg_pool1d(x.t()[None], ONES).sum() * 3000,
    "loss": lambda x: F.mse_loss(x, x * 0, reduction="sum"),
    "mean loss": lambda x: F.l1_loss(x, x * 0) * 6000,
    "gradient of a broadcast": lambda x: gradient(lambda b: x + b, 2, dtype=x.dtype).sum(),
    "gradient of a number": lambda x: gradient(lambda b: x * b, dtype=x.dtype),
    "gradient of expand": lambda x: gradient(lambda b: b.expand(ONES, 2), 2, dtype=x.dtype).sum(),
    "gradient of gather": lambda x: gradient(
        lambda b: b.gather(0, torch.zeros(ONES, 2, dtype=torch.int64)), 1, 2, dtype=x.dtype
    ).sum(),
    "gradient of a layer's bias": lambda x: gradient(lambda b: F.linear(x, x[:2], b), 2, dtype=x.dtype).sum(),
}


@for_each("dtype, expected", [(torch.float16, 6000.0), (torch.bfloat16, 6016.0)])
@for_each("name", CASES)
def test_many_ones(name, dtype, expected):
    found = CASES[name](torch.ones(ONES, 2, dtype=dtype))
    assert found.dtype is dtype
    assert found.item() == pytest.approx(expected, rel=2e-2 if "softmax" in name or "pool" in name else 3e-3)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_normalizations_of_a_constant_give_zero(dtype):
    x = torch.ones(ONES, 2, dtype=dtype)
    for out in (F.layer_norm(x.t(), (ONES,)), F.batch_norm(x, None, None, training=True), F.group_norm(x.t()[None], 2)):
        assert out.dtype is dtype and not out.any()
    assert x.var().item() == x.std(0).sum().item() == 0.0


def test_an_asked_dtype_is_kept():
    x = torch.ones(ONES, dtype=torch.bfloat16)
    for found in (
        x.sum(dtype=torch.float32),
        x.cumsum(0, dtype=torch.float32)[-1],
        torch.linalg.vector_norm(x, 1, dtype=torch.float32),
    ):
        assert found.dtype is torch.float32 and found.item() == 3000.0
    for found in (x.sum(dtype=torch.float64), x.mean(dtype=torch.float64), x.cumsum(0, dtype=torch.float64)):
        assert found.dtype is torch.float64
    wide, narrow = torch.ones(ONES), torch.bfloat16
    assert wide.sum(dtype=narrow).item() == wide.cumsum(0, dtype=narrow)[-1].item() == 3008.0
    assert wide.mean(dtype=narrow).item() == 1.0 and wide.mean(dtype=narrow).dtype is narrow


def test_what_is_added_to_a_product_is_rounded_with_it():
    row, column, more = (torch.tensor(x).bfloat16() for x in ([[1.0, 1 / 256]], [[1.0], [1.0]], [[1 / 256]]))
    assert (row @ column + more).item() == 1.0
    added = (
        torch.addmm(more, row, column),
        torch.addmv(more[0], row, column[:, 0]),
        torch.baddbmm(more[None], row[None], column[None]),
        torch.addbmm(more, row[None], column[None]),
        F.linear(row, column.t(), more[0]),
    )
    assert [x.item() for x in added] == [1.0078125] * 5

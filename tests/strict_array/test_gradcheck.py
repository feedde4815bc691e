"""gradcheck of functions on a GPU says what it says on the CPU."""

from __future__ import annotations

from typing import Any

import pytest

from autograph_cli import torch

pytestmark = pytest.mark.usefixtures("gpu")


class Wrong(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad * 3


def inputs(dtype: Any = None) -> Any:
    return torch.randn(2, 3, dtype=dtype or torch.float64, device="cuda", requires_grad=True)


@pytest.mark.parametrize("options", [{}, {"fast_mode": True}, {"check_forward_ad": True}, {"check_batched_grad": True}])
@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
def test_a_right_derivative_passes(options: dict[str, bool], dtype: Any) -> None:
    x = inputs(dtype)
    assert torch.autograd.gradcheck(lambda x: (x * x.conj()).sin(), x, **options)
    assert torch.autograd.gradgradcheck(lambda x: x * x * x, x)


@pytest.mark.parametrize("fast", [False, True])
def test_a_wrong_one_is_found(fast: bool) -> None:
    with pytest.raises(RuntimeError, match="Jacobian mismatch for output 0 with respect to input 0"):
        torch.autograd.gradcheck(Wrong.apply, inputs(), fast_mode=fast)


@pytest.mark.filterwarnings("ignore:Anomaly Detection has been enabled")
def test_detect_anomaly_finds_nan() -> None:
    x = torch.zeros(1, device="cuda", requires_grad=True)
    with (
        pytest.warns(UserWarning, match="Error detected in SqrtBackward0"),
        pytest.raises(RuntimeError, match="returned nan values in its 0th output"),
        torch.autograd.detect_anomaly(check_nan=True),
    ):
        (x.sqrt() * 0).sum().backward()


def test_a_loader_shuffles_where_tensors_are_made_on_a_gpu() -> None:
    torch.set_default_device("cuda")
    try:
        data = torch.utils.data.random_split(range(8), [6, 2])[0]
        loader = torch.utils.data.DataLoader(data, shuffle=True, batch_size=3)
        assert sum(len(batch) for batch in loader) == 6
    finally:
        torch.set_default_device(None)

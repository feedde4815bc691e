"""What 16-bit floats are computed in: convolutions in float32, rounded once, as PyTorch does."""

from typing import Any

import pytest

from autograph_cli import torch

NN = torch.nn.functional
CASES: list[tuple[Any, tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    (NN.conv2d, (8, 4, 32, 32), (4, 1, 3, 3), {"groups": 4}),
    (NN.conv2d, (2, 4, 8, 8), (6, 4, 3, 3), {"padding": 1}),
    (NN.conv1d, (2, 4, 300), (6, 2, 3), {"groups": 2}),
    (NN.conv3d, (1, 2, 5, 5, 5), (2, 1, 2, 2, 2), {"groups": 2}),
    (NN.conv_transpose2d, (2, 3, 5, 5), (3, 4, 2, 2), {}),
]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0].__name__}{case[1]}")
def test_convolutions_round_once(case: Any, dtype: Any) -> None:
    run, image, weight, options = case
    torch.manual_seed(0)
    channels = weight[1] if run is NN.conv_transpose2d else weight[0]
    narrow = [torch.randn(*shape).to(dtype).requires_grad_() for shape in (image, weight, (channels,))]
    wide = [x.detach().float().requires_grad_() for x in narrow]
    results = []
    for given in (narrow, wide):
        y = run(*given, **options)
        results.append([y, *torch.autograd.grad(y.sum(), given)])
    for mine, exact in zip(*results, strict=True):
        assert mine.dtype == dtype
        assert torch.equal(mine, exact.to(dtype))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_running_logarithms_of_sums_have_gradients(dtype: Any) -> None:
    x = torch.arange(6.0).reshape(2, 3).to(dtype).requires_grad_()
    x.logcumsumexp(1).sum().backward()
    wide = x.detach().float().requires_grad_()
    wide.logcumsumexp(1).sum().backward()
    assert torch.allclose(x.grad.float(), wide.grad, rtol=0.02)

"""A convolution on a GPU copies its windows in pieces: its results are those of the CPU, and it takes little memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from autograph_cli import torch
from autograph_cli.torch._kernels.gpu import cuda_convolution

PIECES = 10 * 512
"""CuPy's pool hands out memory in pieces of 512 bytes: what so many arrays may take more than they hold."""
pytestmark = pytest.mark.usefixtures("gpu", "in_pieces")
SHAPES: dict[str, tuple[tuple[int, ...], Callable[[], Any]]] = {
    "a batch": ((16, 8, 20, 20), lambda: torch.nn.Conv2d(8, 8, 3, padding=1)),
    "one large image": ((1, 4, 64, 64), lambda: torch.nn.Conv2d(4, 6, 5, padding=2)),
    "with steps": ((4, 4, 31, 30), lambda: torch.nn.Conv2d(4, 8, 7, 2, 3, bias=False)),
    "dilated": ((4, 4, 32, 32), lambda: torch.nn.Conv2d(4, 8, 3, 1, 2, 2)),
    "in groups": ((8, 8, 16, 16), lambda: torch.nn.Conv2d(8, 16, 3, padding=1, groups=4)),
    "each channel alone": ((8, 8, 16, 16), lambda: torch.nn.Conv2d(8, 8, 3, padding=1, groups=8)),
    "of one dimension": ((4, 8, 300), lambda: torch.nn.Conv1d(8, 8, 9, padding=4)),
    "of three dimensions": ((2, 3, 8, 9, 10), lambda: torch.nn.Conv3d(3, 4, 3, padding=1)),
    "transposed": ((8, 8, 16, 16), lambda: torch.nn.ConvTranspose2d(8, 8, 4, 2, 1)),
    "transposed, with more": ((1, 4, 40, 40), lambda: torch.nn.ConvTranspose2d(4, 4, 3, 2, 1, 1)),
    "of nothing": ((0, 3, 8, 8), lambda: torch.nn.Conv2d(3, 4, 3)),
}


@pytest.fixture
def in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small images are computed in pieces as well."""
    monkeypatch.setattr(cuda_convolution, "WORKSPACE", 0)


def gradients(layer: Any, x: Any) -> list[Any]:
    """The result, and the gradients by image and parameters."""
    out = layer(x)
    (out * out).sum().backward()
    return [out.detach(), x.grad, *[p.grad for p in layer.parameters()]]


@pytest.mark.parametrize("dtype, tolerance", [("float64", 1e-11), ("float32", 1e-4)])
@pytest.mark.parametrize("name", SHAPES)
def test_results_and_gradients_are_those_of_the_cpu(name: str, dtype: str, tolerance: float) -> None:
    torch.manual_seed(0)
    shape, make = SHAPES[name]
    layer = make().to(getattr(torch, dtype))
    x = torch.randn(shape, dtype=getattr(torch, dtype))
    here = gradients(layer, x.clone().requires_grad_())
    layer.zero_grad()
    there = gradients(layer.cuda(), x.cuda().requires_grad_())
    for one, other in zip(here, there, strict=True):
        assert one.stride() == other.stride()
        assert torch.allclose(other.cpu(), one, rtol=tolerance, atol=tolerance * float(one.abs().sum() > 0) * 10)


@pytest.mark.parametrize("name", [name for name in SHAPES if name != "of nothing"])
@pytest.mark.parametrize("part", ["forward", "backward"])
def test_it_takes_at_most_twice_the_memory_of_what_it_is_given_and_makes(name: str, part: str) -> None:
    shape, make = SHAPES[name]
    layer, x = make().cuda(), torch.randn(shape).cuda().requires_grad_()
    with torch.no_grad():
        out = layer(x)
    gradient = torch.ones_like(out)
    weights = sum(p.nbytes for p in layer.parameters())
    run = (
        (lambda: layer(x.detach()))
        if part == "forward"
        else (lambda: torch.autograd.grad(y, [x, *layer.parameters()], gradient))
    )
    y = layer(x)
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    run()
    taken = torch.cuda.max_memory_allocated() - before
    given = x.nbytes + out.nbytes + weights
    makes = out.nbytes if part == "forward" else x.nbytes + weights
    assert taken + given <= 2 * (given + makes) + PIECES

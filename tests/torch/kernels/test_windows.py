"""Compiled convolutions and pooling give what NumPy's way gives."""

import math
from typing import Any

import numpy as np
import pytest

from autograph_cli.torch._kernels import cpu
from autograph_cli.torch._kernels.layers import convolution
from tests.cases import for_each
from tests.torch.kernels.compared import KINDS, both, needs_compiled, numbers, odd, same, spread_out

pytestmark = needs_compiled

WINDOWS = [
    ((2, 3, 7, 9), (3, 2), (1, 1), (0, 0), (1, 1)),
    ((2, 3, 12, 12), (5, 5), (1, 1), (0, 0), (1, 1)),
    ((1, 1, 5, 5), (3, 3), (1, 1), (1, 1), (1, 1)),
    ((2, 2, 9, 8), (3, 3), (2, 3), (1, 1), (1, 1)),
    ((2, 2, 9, 8), (2, 2), (2, 2), (0, 0), (1, 1)),
    ((1, 4, 11, 10), (3, 2), (1, 2), (2, 1), (2, 3)),
    ((3, 2, 40), (3,), (1,), (1,), (2,)),
    ((3, 2, 17), (4,), (3,), (2,), (1,)),
    ((5, 1, 9), (3,), (1,), (1,), (1,)),
    ((3, 2, 4), (1,), (2,), (2,), (1,)),
    ((2, 4, 4, 4), (1, 1), (2, 2), (2, 2), (1, 1)),
    ((2, 4, 6, 6), (1, 1), (1, 1), (0, 0), (1, 1)),
    ((1, 1, 1, 1), (1, 1), (1, 1), (0, 0), (1, 1)),
    ((0, 3, 6, 6), (3, 3), (1, 1), (0, 0), (1, 1)),
    ((1, 2, 5, 6, 7), (2, 3, 2), (1, 2, 1), (0, 1, 1), (1, 1, 2)),
]
"""Image, kernel, stride, padding, dilation."""


@for_each("kind", KINDS)
@for_each("make", [numbers, odd])
@pytest.mark.parametrize("shape, kernel, stride, padding, dilation", WINDOWS)
@for_each("groups", ["one", "every"])
def test_convolution(
    kind: str,
    make: Any,
    shape: Any,
    kernel: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: str,
) -> None:
    channels = shape[1]
    weight = numbers(kind, channels if groups == "every" else 4, 1 if groups == "every" else channels, *kernel, seed=1)
    image, none = make(kind, *shape), (0,) * len(kernel)
    geometry = (stride, padding, dilation, False, none, channels if groups == "every" else 1)
    with np.errstate(all="ignore"):
        grad = numbers(kind, *cpu.convolution(image, weight, None, *geometry).shape, seed=2)

    def run() -> Any:
        return (
            cpu.convolution(image, weight, None, *geometry),
            *cpu.convolution_backward(grad, image, weight, *geometry, (True, True, True)),
            cpu.im2col(image, kernel, dilation, padding, stride),
            cpu.convolution(grad, weight, None, stride, padding, dilation, True, none, geometry[-1]),
        )

    both(run)


@for_each("kind", KINDS)
@for_each("transposed", [False, True])
@for_each("mask", [(True, True, False), (True, False, False), (False, True, False)])
@for_each("groups", [1, 2])
@pytest.mark.parametrize("shape, kernel, stride, padding, dilation", WINDOWS)
def test_gradients_of_a_convolution(
    kind: str,
    transposed: bool,
    mask: Any,
    groups: int,
    shape: Any,
    kernel: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
) -> None:
    image, none = numbers(kind, shape[0], 4, *shape[2:]), (0,) * len(kernel)
    weight = numbers(kind, 4 if transposed else 6, (6 if transposed else 4) // groups, *kernel, seed=1)
    geometry = (stride, padding, dilation, transposed, none, groups)
    if transposed and shape[-1] == 1:
        pytest.skip("nothing would be left of such an image")
    out = cpu.convolution(image, weight, None, *geometry)
    whole, one = numbers(kind, *out.shape, seed=2), np.ones((), kind)
    grads = [
        whole,
        np.broadcast_to(one, out.shape),
        spread_out(whole),
        np.moveaxis(np.moveaxis(whole, 1, -1).copy(), -1, 1),
    ]

    def run() -> Any:
        return tuple(
            found for grad in grads for found in cpu.convolution_backward(grad, image, weight, *geometry, mask)
        )

    both(run)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape, kernel, stride, padding, dilation", WINDOWS)
def test_convolution_of_a_few_images_at_a_time(
    monkeypatch: Any, kind: str, shape: Any, kernel: Any, stride: Any, padding: Any, dilation: Any
) -> None:
    image, weight, none = numbers(kind, 5, *shape[1:]), numbers(kind, 4, shape[1], *kernel, seed=1), (0,) * len(kernel)
    geometry = (stride, padding, dilation, False, none, 1)

    def run() -> Any:
        out = cpu.convolution(image, weight, None, *geometry)
        return out, *cpu.convolution_backward(out, image, weight, *geometry, (True, True, True))

    whole = run()
    monkeypatch.setattr(convolution, "_PART", 2 * image.itemsize * image[0].size * math.prod(kernel))
    same(run(), whole)
    both(run)


def test_convolution_of_images_that_are_not_in_one_piece() -> None:
    image, weight = spread_out(numbers("float32", 2, 3, 8, 8)), numbers("float32", 4, 3, 3, 3)
    both(lambda: cpu.convolution(image, weight, None, (1, 1), (1, 1), (1, 1), False, (0, 0), 1))


@for_each("kind", KINDS)
@for_each("make", [numbers, odd])
@pytest.mark.parametrize("shape, kernel, stride, padding, dilation", WINDOWS)
@for_each("ceil", [False, True])
def test_pooling(
    kind: str,
    make: Any,
    shape: Any,
    kernel: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil: bool,
) -> None:
    image, padding = make(kind, *shape), tuple(min(p, k // 2) for p, k in zip(padding, kernel, strict=True))

    def run() -> Any:
        best, places = cpu.max_pool(image, kernel, stride, padding, dilation, ceil)
        mean = cpu.avg_pool(image, kernel, stride, padding, ceil, True, None)
        inner = cpu.avg_pool(image, kernel, stride, padding, ceil, False, None)
        return (
            best + 0,  # of zeros of both signs the compiled kernel takes the first, NumPy's maximum either
            places,
            cpu.put_planes(best, image.shape, places, len(kernel)),
            mean,
            inner,
            cpu.avg_pool(image, kernel, stride, padding, ceil, True, 3),
            cpu.avg_pool_backward(mean, image, kernel, stride, padding, ceil, True, None),
            cpu.avg_pool_backward(inner, image, kernel, stride, padding, ceil, False, None),
        )

    both(run)


def test_pooling_refuses_positions_outside_of_the_plane() -> None:
    grad, places = numbers("float32", 1, 1, 2, 2), np.full((1, 1, 2, 2), 99)
    with pytest.raises(IndexError):
        cpu.put_planes(grad, (1, 1, 4, 4), places, 2)

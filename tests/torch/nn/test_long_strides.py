"""Strides beyond the image lead to one window, however long they are: no arithmetic on them overflows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from autograph_cli import torch
from autograph_cli.torch.nn import functional as F
from tests.cases import for_each

LONG = (2**31 - 1, 2**31, 2**61, 2**62, 2**63 - 2, 2**63 - 1)
LINE, IMAGE, BLOCK = (1, 2, 9), (1, 2, 3, 3), (1, 2, 2, 2, 2)
Case = tuple[tuple[int, ...], Callable[[Any, int], Any]]
CONVOLUTIONS: dict[str, Case] = {
    "conv1d": (LINE, lambda x, s: F.conv1d(x, torch.ones(2, 2, 2), stride=s)),
    "conv1d in groups": (LINE, lambda x, s: F.conv1d(x, torch.ones(2, 1, 2), stride=s, groups=2)),
    "conv2d": (IMAGE, lambda x, s: F.conv2d(x, torch.ones(2, 2, 2, 2), stride=s)),
    "conv2d along a line": (IMAGE, lambda x, s: F.conv2d(x, torch.ones(2, 2, 2, 2), stride=(1, s))),
    "conv2d in a frame": (IMAGE, lambda x, s: F.conv2d(x, torch.ones(2, 2, 2, 2), stride=s, padding=1)),
    "conv3d": (BLOCK, lambda x, s: F.conv3d(x, torch.ones(2, 2, 2, 2, 2), stride=s)),
    "conv_transpose1d": ((1, 2, 1), lambda x, s: F.conv_transpose1d(x, torch.ones(2, 2, 2), stride=s)),
    "conv_transpose2d": ((1, 2, 1, 1), lambda x, s: F.conv_transpose2d(x, torch.ones(2, 2, 2, 2), stride=s)),
    "unfold": (IMAGE, lambda x, s: F.unfold(x, 2, stride=s)),
    "fold": ((1, 4, 1), lambda x, s: F.fold(x, (2, 2), 2, stride=s)),
}
POOLINGS: dict[str, Case] = {
    f"{f.__name__}, {what}": (shape, lambda x, s, f=f, arguments=arguments: f(x, *arguments(s)))
    for f, shape in (
        (F.max_pool2d, IMAGE), (F.avg_pool1d, LINE), (F.avg_pool2d, IMAGE), (F.max_pool3d, BLOCK), (F.avg_pool3d, BLOCK)
    )
    for what, arguments in {"stride": lambda s: (2, s), "kernel": lambda s: (s, 1)}.items()
}  # fmt: skip


def _run(case: Case, stride: int) -> tuple[Any, Any]:
    shape, run = case
    x = torch.arange(1.0, 1 + torch.Size(shape).numel()).reshape(shape).requires_grad_()
    result = run(x, stride)
    return result, torch.autograd.grad(result.sum(), x)[0]


@for_each("stride", LONG)
@for_each("name", CONVOLUTIONS)
def test_a_stride_beyond_the_image_leads_to_one_window(name: str, stride: int) -> None:
    for found, wanted in zip(_run(CONVOLUTIONS[name], stride), _run(CONVOLUTIONS[name], 100), strict=True):
        assert found.abs().sum() > 0 and torch.equal(found, wanted)


@for_each("size", LONG[1:])
@for_each("name", POOLINGS)
def test_windows_of_poolings_are_of_numbers_of_32_bits(name: str, size: int) -> None:
    with pytest.raises(RuntimeError, match="value cannot be converted to type int without overflow"):
        _run(POOLINGS[name], size)

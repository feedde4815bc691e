"""Gradients of normalizations, compiled as a whole, give the bits and the layout that their steps give."""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from autograph_cli.torch._kernels import cpu
from autograph_cli.torch._kernels.variants import VARIANTS
from tests.torch.kernels.compared import KINDS, both, needs_compiled, numbers, odd, spread_out

pytestmark = needs_compiled
EPS = 1e-5
MASKS = list(itertools.product((True, False), repeat=3))
SHAPES = [
    (1, 1), (4, 4), (5, 1), (1, 7), (0, 4), (64, 64), (3, 1, 7), (2, 4, 6, 6), (3, 2, 1, 1), (4, 2, 16, 16),
    (2, 3, 0),
]  # fmt: skip
LAID_OUT = {
    "in order": lambda a: a,
    "spread out": spread_out,
    "expanded": lambda a: np.broadcast_to(a[:1], a.shape) if len(a) else a,
    "channels last": lambda a: np.moveaxis(np.ascontiguousarray(np.moveaxis(a, 1, -1)), -1, 1),
    "turned": np.asfortranarray,
}
Made = Any
Calls = Iterator[tuple[Any, ...]]


def layer_norms(make: Made) -> Calls:
    for shape in [*SHAPES, (20000, 2), (2, 20000)]:
        for lead in range(len(shape)):
            mean, weight = make(*shape[:lead], *[1] * (len(shape) - lead)), make(*shape[lead:])
            grad, a = make(*shape)[::-1].copy(), make(*shape)
            for by, mask in itertools.product((None, weight), MASKS):
                yield grad, a, shape[lead:], mean, abs(mean), by, None, mask


def group_norms(make: Made) -> Calls:
    for shape in SHAPES:
        for groups in (n for n in (1, 2, 4) if shape[1] % n == 0):
            mean, weight = make(shape[0], groups), make(shape[1])
            grad, a = make(*shape)[::-1].copy(), make(*shape)
            for by, mask in itertools.product((None, weight), MASKS):
                if mean.size:
                    yield grad, a, mean, abs(mean), by, groups, mask


def batch_norms(make: Made) -> Calls:
    for shape in [*SHAPES, (300, 1), (1, 300), (2, 1, 20000), (16, 40)]:
        mean, other, weight = make(shape[1]), make(shape[1]) + 1, make(shape[1])
        grad, a = make(*shape)[::-1].copy(), make(*shape)
        for by, training, mask in itertools.product((None, weight), (True, False), MASKS):
            yield grad, a, by, other, abs(other), mean, abs(mean), training, EPS, mask


CALLS = {
    "native_layer_norm_backward": layer_norms,
    "native_group_norm_backward": group_norms,
    "native_batch_norm_backward": batch_norms,
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("filled", [numbers, odd])
@pytest.mark.parametrize("way", LAID_OUT)
def test_they_give_what_the_steps_give(name: str, kind: str, filled: Any, way: str) -> None:
    def run() -> Any:
        calls = CALLS[name](lambda *shape: filled(kind, *shape))
        return tuple(getattr(cpu, name)(LAID_OUT[way](grad), *rest) for grad, *rest in calls)

    both(run)


@pytest.mark.parametrize("name", CALLS)
def test_inputs_in_another_order(name: str) -> None:
    def run() -> Any:
        calls = CALLS[name](lambda *shape: numbers("float32", *shape))
        return tuple(
            getattr(cpu, name)(grad, turn(a), *rest)
            for turn in (LAID_OUT["spread out"], LAID_OUT["channels last"])
            for grad, a, *rest in calls
        )

    both(run)


@pytest.mark.parametrize("name", CALLS)
def test_other_arguments_are_left_to_the_steps(name: str) -> None:
    whole = VARIANTS[name].function()
    grad, a, *rest = next(CALLS[name](lambda *shape: numbers("float32", *shape)))
    assert whole(grad, a, *rest) is not None
    for other in (a.astype("float16"), a.astype("int64"), a.astype("float64"), a.astype(">f4"), None, a[:0], a[0]):
        assert whole(other, a, *rest) is None
        assert whole(grad, other, *rest) is None
    for i, x in enumerate(rest):
        if isinstance(x, np.ndarray) and not (name == "native_batch_norm_backward" and i in (1, 2)):
            for other in (x.astype("float64"), np.concatenate((x, x)), np.zeros(0, "float32")):
                assert whole(grad, a, *rest[:i], other, *rest[i + 1 :]) is None

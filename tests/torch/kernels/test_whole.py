"""Compiled kernels that do an operation as a whole give the bits and the layout that its steps give."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from autograph_cli.torch._core.base.op_namespace import table
from autograph_cli.torch._core.running import device_dispatch
from autograph_cli.torch._kernels import cpu
from autograph_cli.torch._kernels.variants import VARIANTS
from tests.torch.kernels.compared import (
    KINDS,
    chooser,
    needs_compiled,
    numbers,
    odd,
    same,
    spread_out,
    without_variants,
)

pytestmark = needs_compiled
EPS = 1e-5
SHAPES = [(1, 1), (4, 4), (5, 1), (1, 7), (64, 64), (3, 1, 7), (2, 4, 6, 6), (1, 4, 3, 3), (3, 2, 1, 1), (4, 2, 16, 16)]
IMAGES = [(1, 2, 6, 6), (3, 7, 9), (2, 1, 5, 5), (2, 3, 1, 8), (8, 8, 16, 16)]
PAIRS = [((2, 2), (2, 2), (0, 0), (1, 1)), ((3, 3), (2, 2), (1, 1), (1, 1)), ((1, 1), (1, 1), (0, 0), (1, 1))]
Made = Callable[..., Any]


def each_dim(make: Made) -> Iterator[tuple[Any, ...]]:
    for shape in [*SHAPES, (3, 1, 1), (2, 200, 3), (2, 20000)]:
        yield from ((make(*shape), dim) for dim in range(-1, len(shape)))


def sums_of_exponentials(make: Made) -> Iterator[tuple[Any, ...]]:
    yield from ((a, (dim,), keep) for a, dim in each_dim(make) for keep in (False, True))
    yield from ((make(n), (0,), False) for n in (1, 40, 9000))


def layer_norms(make: Made) -> Iterator[tuple[Any, ...]]:
    for shape in SHAPES:
        for lead in range(len(shape)):
            weight, bias = make(*shape[lead:]), make(*shape[lead:])
            for parts in ((weight, bias), (None, bias), (weight, None), (None, None)):
                yield make(*shape), shape[lead:], *parts, EPS


def batch_norms(make: Made) -> Iterator[tuple[Any, ...]]:
    for shape in [*SHAPES, (300, 1), (1, 300), (2, 1, 20000)]:
        by, mean = make(shape[1]), make(shape[1])
        for parts in ((by, by), (None, by), (by, None), (None, None)):
            yield from ((make(*shape), *parts, mean, abs(mean), training, 0.1, EPS) for training in (True, False))
        yield make(*shape), by, by, None, None, True, 0.1, EPS


def group_norms(make: Made) -> Iterator[tuple[Any, ...]]:
    for shape in SHAPES:
        by = make(shape[1])
        for groups in (n for n in (1, 2, 4) if shape[1] % n == 0):
            yield from (
                (make(*shape), *parts, groups, EPS) for parts in ((by, by), (None, by), (by, None), (None, None))
            )


def losses(make: Made) -> Iterator[tuple[Any, ...]]:
    for shape in [(1, 1), (4, 4), (300, 5)]:
        target = np.random.default_rng(1).integers(0, shape[1], shape[0])
        yield from ((make(*shape), target, None, reduction, -100) for reduction in (0, 1, 2))


def attentions(make: Made) -> Iterator[tuple[Any, ...]]:
    for shape, keys in (((1, 4, 2, 1), 2), ((2, 4, 5, 3), 5), ((2, 2, 3, 4), 7), ((8, 4, 16, 8), 16)):
        q, k, v = make(*shape), make(*shape[:2], keys, shape[3]), make(*shape[:2], keys, shape[3])
        turned = make(shape[0], shape[2], shape[1], shape[3]).swapaxes(1, 2)
        for causal in (False, True):
            yield from ((x, k, v, causal, None, scale) for x in (q, turned) for scale in (None, 0.5))


def max_pools(make: Made) -> Iterator[tuple[Any, ...]]:
    yield from ((make(*shape), *pair, ceil) for shape in IMAGES[:2] for pair in PAIRS for ceil in (False, True))


def avg_pools(make: Made) -> Iterator[tuple[Any, ...]]:
    for a, *pair, _, ceil in max_pools(make):
        yield from ((a, *pair, ceil, include, by) for include in (False, True) for by in (None, 3))


def adaptive_pools(make: Made) -> Iterator[tuple[Any, ...]]:
    yield from ((make(*shape), size) for shape in IMAGES for size in ((2, 2), (3, 5), (9, 1)))


def convolutions(make: Made) -> Iterator[tuple[Any, ...]]:
    for shape in [(1, 2, 6, 6), (2, 4, 5, 7), (2, 4, 9), (16, 4, 64, 64)]:
        c, spatial = shape[1], len(shape) - 2
        for kernel, stride, padding, dilation in PAIRS:
            sizes = (stride[:spatial], padding[:spatial], dilation[:spatial])
            for groups, o in ((1, 3), (2, 4), (c, c)):
                weight, bias = make(o, c // groups, *kernel[:spatial]), make(o)
                yield make(*shape), weight, bias, *sizes, False, (0,) * spatial, groups
                yield make(*shape), spread_out(weight), None, *sizes, False, (0,) * spatial, groups
                back = make(c, o // groups, *kernel[:spatial])
                yield make(*shape), back, bias, *sizes, True, (stride[0] - 1,) * spatial, groups


def pads(make: Made) -> Iterator[tuple[Any, ...]]:
    yield from ((make(*shape), pad) for shape in IMAGES for pad in ((1, 0), (0, 2, 0, 0), (-1, 2, 0, -1), (0, 0)))


def padded_gradients(make: Made) -> Iterator[tuple[Any, ...]]:
    for a, pad in pads(make):
        whole = [n + sum(pad[2 * d : 2 * d + 2]) for d, n in enumerate(reversed(a.shape))][::-1]
        if 0 not in whole:
            yield make(*whole), a, pad


def turns(make: Made) -> Iterator[tuple[Any, ...]]:
    yield from ((make(*shape), (dim,)) for shape in [*SHAPES, (9,)] for dim in range(len(shape)))
    others = [numbers("float32", 3, 4).astype(kind) for kind in ("int64", "float16", "complex128", "?")]
    yield from ((a, (d,)) for a in others for d in (0, 1))
    yield make(3, 4), (0, 1)
    yield spread_out(make(3, 4)), (0,)


def vectors(make: Made) -> Iterator[tuple[Any, ...]]:
    for n in (1, 2, 4, 33, 20000):
        a, b = make(n), make(n)[::-1].copy()
        yield from ((a, b), (b, a), (a, a), (spread_out(a), b), (a, b[::-1]), (np.broadcast_to(a[:1], (n,)), b))


def between(make: Made) -> Iterator[tuple[Any, ...]]:
    weights = (0.3, 0.5, -0.5, 0.7, 0.1 + 0.2, 3.5, 0.0)
    yield from ((make(*shape), make(*shape)[::-1].copy(), weight) for shape in [*SHAPES, (9,)] for weight in weights)
    yield from ((make(4), other, weight) for other in (make(3, 4), spread_out(make(4))) for weight in (0.3, 1, True))


def additions(make: Made) -> Iterator[tuple[Any, ...]]:
    for shape in SHAPES:
        for d in range(len(shape)):
            index = np.random.default_rng(2).integers(0, shape[d], shape)
            yield from ((make(*shape), d, at, make(*shape)) for at in (index, index[:1], index.astype("int32")))


def casts(make: Made) -> Iterator[tuple[Any, ...]]:
    for a in (make(4, 4), make(3, 1, 5), make(9) * 1e30, make(3, 4).T, spread_out(make(4)), make(2, 0)):
        yield from ((a, np.dtype(kind), None) for kind in ("float32", "float64", "float16", "bool"))


CALLS: dict[str, Callable[[Made], Iterator[tuple[Any, ...]]]] = {
    "softmax": each_dim,
    "log_softmax": each_dim,
    "logsumexp": sums_of_exponentials,
    "native_layer_norm": layer_norms,
    "native_batch_norm": batch_norms,
    "native_group_norm": group_norms,
    "nll_loss_forward": losses,
    "_scaled_dot_product_flash_attention_for_cpu": attentions,
    "max_pool2d_with_indices": max_pools,
    "avg_pool2d": avg_pools,
    "_adaptive_avg_pool2d": adaptive_pools,
    "convolution": convolutions,
    **{f"{name}_pad{n}d": pads for name in ("reflection", "replication") for n in (1, 2)},
    **{f"{name}_pad{n}d_backward": padded_gradients for name in ("reflection", "replication") for n in (1, 2)},
    "scatter_add": additions,
    "cast_in_format": casts,
    "flip": turns,
    "lerp_Scalar": between,
    "dot": vectors,
}
MAY_BE_LEFT = {
    "convolution", "logsumexp", "flip", "dot", "scatter_add", "cast_in_format", "lerp_Scalar",
    *(name for name in CALLS if "_pad" in name),
}  # fmt: skip
"""Kernels that leave some of these calls to their steps."""
OPERATIONS = {"cast_in_format": "_to_copy"}
"""The operations of kernels that are named otherwise."""
ANY_KIND = {"flip"}
"""Kernels that move elements of any kind."""
VIEWS = set(
    """
    slice select unbind view expand diagonal windows permute transpose t unsqueeze reshape
    """.split()
)
"""Those that look at no elements (see test_fast_views.py)."""


def variant_of(name: str) -> Callable[..., Any]:
    """The variant, which gives None where it is not asked."""
    variant = VARIANTS[name]
    asked: Callable[..., Any] = chooser.either(variant.function(), lambda *_: None, variant.arrays, variant.alike)
    return asked


def test_each_is_called_here() -> None:
    assert CALLS.keys() | VIEWS == {name for name, variant in VARIANTS.items() if variant.laid}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("filled", [numbers, odd])
def test_it_gives_what_the_steps_give(name: str, kind: str, filled: Any) -> None:
    calls = list(CALLS[name](lambda *shape: filled(kind, *shape)))
    op = table[OPERATIONS.get(name, name)]
    with np.errstate(all="ignore"):
        whole = [variant_of(name)(*args) for args in calls]
        found = [device_dispatch.bound(op, cpu)(*args) for args in calls]
        with without_variants():
            wanted = [device_dispatch.bound(op, cpu)(*args) for args in calls]
    assert any(x is not None for x in whole)
    assert name in MAY_BE_LEFT or not any(x is None for x in whole)
    for args, one, other in zip(calls, found, wanted, strict=True):
        same(
            tuple(map(np.asarray, one)) if op.multiple else one, tuple(map(np.asarray, other)) if op.multiple else other
        )
        assert args is not None


@pytest.mark.parametrize("name", CALLS)
def test_it_leaves_other_arguments_to_the_steps(name: str) -> None:
    args = next(CALLS[name](lambda *shape: numbers("float32", *shape)))
    first, rest, run = args[0], args[1:], variant_of(name)
    kinds = () if name in ANY_KIND else ("float16", "int64", ">f4")
    for other in (*map(first.astype, kinds), np.float32(1), None, [1.0]):
        assert run(other, *rest) is None
    if name in ANY_KIND:
        return
    if first.ndim > 3 and name != "_scaled_dot_product_flash_attention_for_cpu":
        turned = np.moveaxis(np.ones((2, 6, 6, 2), "float32"), -1, 1)
        assert run(turned, *rest) is None
        alone = np.moveaxis(np.ones((2, 6, 6, 1), "float32"), -1, 1)  # in one piece, but told as channels last
        assert alone.flags.c_contiguous
        assert run(alone, *rest) is None

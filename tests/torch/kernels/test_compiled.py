"""Compiled kernels give the bits that NumPy's give."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autograph_cli.torch import optim
from autograph_cli.torch._kernels import cpu
from autograph_cli.torch._kernels.elements import indexing
from autograph_cli.torch._kernels.inplace import updates
from tests.cases import for_each
from tests.torch.kernels.compared import KINDS, both, needs_compiled, numbers, odd, same, spread_out

pytestmark = needs_compiled

# ---------------------------------------------------------------- rows

ROWS = [
    (1,), (3,), (2, 1), (1, 7), (4, 4), (3, 5, 8), (5, 17), (2, 130), (40, 16), (64, 33), (9, 300), (70, 64),
    (2, 20000), (0, 4), (4, 0),
]  # fmt: skip


@for_each("kind", KINDS)
@for_each("make", [numbers, odd])
@pytest.mark.parametrize("shape", ROWS)
def test_softmax(kind: str, make: Any, shape: Any) -> None:
    a, grad = make(kind, *shape), numbers(kind, *shape, seed=1)

    def run() -> Any:
        made = [
            softmax_of(x, dim)
            for x in (a, spread_out(a))
            for dim in (-1, 0)
            for softmax_of in (cpu.softmax, cpu.log_softmax)
        ]
        back = (cpu.softmax_backward, cpu.log_softmax_backward)
        grads = (grad, spread_out(grad), np.broadcast_to(grad[:1], grad.shape))
        return *made, *(run(g, x, dim) for run, x in zip(back, made, strict=False) for g in grads for dim in (-1, 0))

    both(run)


@for_each("kind", KINDS)
@for_each("make", [numbers, odd])
@pytest.mark.parametrize("shape", ROWS)
def test_sums_of_rows(kind: str, make: Any, shape: Any) -> None:
    a, b = make(kind, *shape), numbers(kind, *shape, seed=1)
    both(lambda: (cpu.row_sums(a), cpu.row_products(a, b), cpu.row_sums(spread_out(a))))


@for_each("kind", KINDS)
@for_each("make", [numbers, odd])
@pytest.mark.parametrize("shape", ROWS)
@for_each("affine", [(True, True), (True, False), (False, True), (False, False)])
def test_layer_norm(kind: str, make: Any, shape: Any, affine: Any) -> None:
    a, grad, inner = make(kind, *shape), numbers(kind, *shape, seed=1), shape[-2:] if len(shape) > 2 else shape[-1:]
    weight, bias = (numbers(kind, *inner, seed=2 + i) if wanted else None for i, wanted in enumerate(affine))

    def run() -> Any:
        made = cpu.native_layer_norm(a, inner, weight, bias, 1e-5)
        back = cpu.native_layer_norm_backward(grad, a, inner, *made[1:], weight, bias, (True, affine[0], affine[1]))
        return (*made, *back)

    both(run)


@for_each("kind", KINDS)
@for_each("make", [numbers, odd])
@pytest.mark.parametrize("shape", [(4, 4), (2, 4, 3), (3, 4, 5, 5), (8, 4, 16, 16), (0, 4, 3), (1, 4, 1, 1), (2, 4, 0)])
@for_each("affine", [(True, True), (True, False), (False, True), (False, False)])
@for_each("training", [True, False])
def test_batch_and_group_norm(kind: str, make: Any, shape: Any, affine: Any, training: bool) -> None:
    a, grad, channels = make(kind, *shape), numbers(kind, *shape, seed=1), shape[1]
    weight, bias = (numbers(kind, channels, seed=2 + i) if wanted else None for i, wanted in enumerate(affine))
    running = numbers(kind, channels, seed=5), abs(numbers(kind, channels, seed=6))

    def run() -> Any:
        made = cpu.native_batch_norm(a, weight, bias, *running, training, 0.1, 1e-5)
        mask = (True, affine[0], affine[1])
        back = cpu.native_batch_norm_backward(grad, a, weight, *running, *made[1:], training, 1e-5, mask)
        group = cpu.native_group_norm(a, weight, bias, 2, 1e-5) if a.size else ()
        return (
            *made,
            *back,
            *group,
            *(cpu.native_group_norm_backward(grad, a, *group[1:], weight, 2, mask) if group else ()),
        )

    both(run)


# ---------------------------------------------------------------- elements

POINTWISE: dict[str, Callable[[Any, Any], Any]] = {
    "threshold_backward": lambda a, g: cpu.threshold_backward(g, a, 0),
    "threshold_backward of 0.1": lambda a, g: cpu.threshold_backward(g, a, 0.1),
    "tanh_backward": lambda a, g: cpu.tanh_backward(g, a),
    "sigmoid_backward": lambda a, g: cpu.sigmoid_backward(g, a),
    "sigmoid": lambda a, g: cpu.sigmoid(a),
    "silu": lambda a, g: cpu.silu(a),
    "silu_backward": lambda a, g: cpu.silu_backward(g, a),
    "elu": lambda a, g: cpu.elu(a),
    "selu": lambda a, g: cpu.elu(a, 1.67326, 1.0507),
    "celu": lambda a, g: cpu.celu(a, 0.7),
    "elu_backward": lambda a, g: cpu.elu_backward(g, 1, 1, 1, False, a),
    "selu_backward": lambda a, g: cpu.elu_backward(g, 1.67326, 1.0507, 1, False, a),
    "celu_backward": lambda a, g: cpu.elu_backward(g, 0.7, 1, 1 / 0.7, False, a),
    "elu_backward of a result": lambda a, g: cpu.elu_backward(g, 1, 1, 1, True, a),
    "log_sigmoid_backward": lambda a, g: cpu.log_sigmoid_backward(g, a, np.exp(-abs(a))),
    "softplus_backward": lambda a, g: cpu.softplus_backward(g, a, 1, 20),
    "softplus_backward of 2": lambda a, g: cpu.softplus_backward(g, a, 2, 0.3),
    "hardswish_backward": lambda a, g: cpu.hardswish_backward(g, a * 3),
    "leaky_relu": lambda a, g: cpu.leaky_relu(a, 0.1),
    "prelu": lambda a, g: cpu._prelu_kernel(a, g.reshape(-1)[:1].reshape((1,) * a.ndim) if a.size else a),
    "leaky_relu that rises": lambda a, g: cpu.leaky_relu(a, -2),
    "softplus": lambda a, g: cpu.softplus(a, 2, 3),
    "softplus of 1": lambda a, g: cpu.softplus(a),
    "log1p": lambda a, g: (cpu.log1p(a), cpu.log1p(abs(g))),
    "expm1": lambda a, g: (cpu.expm1(a), cpu.expm1(g)),
    "mish": lambda a, g: cpu.mish(a),
    "log_sigmoid": lambda a, g: cpu.log_sigmoid_forward(a),
    "hardsigmoid": lambda a, g: cpu.hardsigmoid(a * 3),
    "hardswish": lambda a, g: cpu.hardswish(a * 3),
    "hardtanh": lambda a, g: cpu.hardtanh(a, -0.7, 1.2),
    "clamp": lambda a, g: cpu.clamp(a, -0.5, 1),
    "clamp from 0": lambda a, g: cpu.clamp(a, 0, None),
    "clamp up to less": lambda a, g: cpu.clamp(a, 0.5, -0.5),
    "clamp to no number": lambda a, g: cpu.clamp(a, None, math.nan),
    "relu": lambda a, g: cpu.relu(a),
    "sign": lambda a, g: cpu.sign(a),
    "lerp": lambda a, g: cpu.lerp_Scalar(a, g, 0.3),
    "lerp most of the way": lambda a, g: cpu.lerp_Scalar(a, g, 0.8),
    "addcmul": lambda a, g: cpu.addcmul(a, g, g),
    "where": lambda a, g: cpu.where(np.asarray(a > 0)[()], a, g),
    "masked_fill": lambda a, g: cpu.masked_fill_Scalar(a, np.asarray(a > 0)[()], 0.5),
    "hypot": lambda a, g: cpu.hypot(a, g),
    "smooth_l1": lambda a, g: cpu.smooth_l1_loss(a, g, 0, 0.7),
    "smooth_l1 without a bend": lambda a, g: cpu.smooth_l1_loss(a, g, 0, 0.0),
    "huber": lambda a, g: cpu.huber_loss(a, g, 0, 0.7),
    "cross entropy of logits": lambda a, g: cpu.binary_cross_entropy_with_logits(a, abs(g), reduction=0),
    "gelu": lambda a, g: cpu.gelu(a),
    "gelu_backward": lambda a, g: cpu.gelu_backward(g, a),
    "gelu by tanh": lambda a, g: cpu.gelu(a, "tanh"),
    "gelu_backward by tanh": lambda a, g: cpu.gelu_backward(g, a, "tanh"),
    "erf": lambda a, g: cpu.erf(a * 3),
    "digamma": lambda a, g: cpu.digamma(abs(a) * 9 + a.dtype.type(0.01)),
    "digamma of either side": lambda a, g: cpu.digamma(g * 9),
    "erfc": lambda a, g: cpu.erfc(a * 3),
    "lgamma": lambda a, g: cpu.lgamma(abs(a) * 9 + a.dtype.type(0.01)),
    "lgamma of either side": lambda a, g: cpu.lgamma(g * 9),
    "lgamma with poles": lambda a, g: cpu.lgamma(a),
}


@for_each("kind", KINDS)
@for_each("make", [numbers, odd])
@for_each("shape", [(), (0,), (1,), (3, 5), (7, 33), (300, 200)])
@pytest.mark.parametrize("name", POINTWISE)
def test_elements(kind: str, make: Any, shape: Any, name: str) -> None:
    run, a, grad = POINTWISE[name], make(kind, *shape), numbers(kind, *shape, seed=1)

    def everywhere() -> Any:
        apart = (run(spread_out(a), grad), run(a, np.broadcast_to(grad[..., :1], a.shape))) if shape else ()
        return (run(a, grad), *apart)

    both(everywhere)


# ---------------------------------------------------------------- positions and order


def positions(n: int, *shape: int) -> Any:
    return np.random.default_rng(4).integers(0, n, shape)


@for_each("kind", KINDS)
@for_each("make", [numbers, odd])
@for_each(
    "shape, dim, many",
    [
        ((5,), 0, 9), ((4, 6), 1, 3), ((4, 6), 0, 9), ((3, 4, 5), 1, 6), ((40, 30), 1, 30), ((3, 0), 1, 0),
        ((3, 4), 0, 0),
    ],
)  # fmt: skip
def test_positions(kind: str, make: Any, shape: Any, dim: int, many: int) -> None:
    a, along = make(kind, *shape), (*shape[:dim], many, *shape[dim + 1 :])
    index, source, slices = (
        positions(max(shape[dim], 1), *along),
        numbers(kind, *along, seed=1),
        positions(max(shape[dim], 1), many),
    )

    def run() -> Any:
        made = cpu.gather(a, dim, index), cpu.scatter_add(a, dim, index, source), cpu.index_add(a, dim, slices, source)
        apart = (
            cpu.gather(spread_out(a), dim, index),
            cpu.scatter_add(a, dim, index[::-1], source),
            cpu.index_add(spread_out(a), dim, slices, source),
        )
        written = (
            cpu.scatter_src(a, dim, index, source),
            cpu.scatter_src(spread_out(a), dim, index, source),
            cpu.scatter_value(a, dim, index, 1.5),
        )
        return (*made, *apart, *written, cpu.index_add(a, dim, slices - shape[dim], source) if shape[dim] else a)

    both(run)


@pytest.mark.parametrize("kind", [*KINDS, "int64", "int8", "bool", "complex128"])
@for_each("shape", [(7,), (5, 6), (3, 4, 5), (2, 3, 4, 1)])
@for_each("lay", [np.asarray, spread_out])
def test_elements_at_positions(kind: str, shape: Any, lay: Any) -> None:
    a = lay((numbers("float64", *shape) * 3).astype(kind))

    def run() -> Any:
        found = []
        for depth in range(1, a.ndim + 1):
            for there in ((1,), (4,), (2, 0), (3, 5)):
                index = [positions(n, *there) - (d % 2) * n for d, n in enumerate(shape[:depth])]
                values = (numbers("float64", *there, *shape[depth:], seed=2) * 3).astype(kind)
                found += [
                    cpu.index(a, index),
                    cpu.index_put(a, index, values),
                    cpu.index_put(a, index, values[..., :1]),
                ]
                found.append(cpu.index(a, [index[0].astype(np.int32), *index[1:]]))
        return tuple(map(np.asarray, found))

    both(run)


def test_positions_outside_are_refused() -> None:
    a = np.zeros((3, 4), np.float32)
    for wrong in (3, -4):
        with pytest.raises(IndexError, match=f"index {wrong} is out of bounds for dimension 0 with size 3"):
            cpu.index(a, [np.array([0, wrong])])
        with pytest.raises(IndexError, match=f"index {wrong} is out of bounds for dimension 0 with size 3"):
            cpu.index_put(a, [np.array([0, wrong])], np.ones((2, 4), np.float32))


@for_each("kind", KINDS)
@for_each("shape", [(1, 1), (4, 4), (3, 5), (5, 3), (2, 3, 4), (0, 3), (3, 0)])
@for_each("diagonal", [0, 1, -1, 7, -7])
def test_triangles(kind: str, shape: Any, diagonal: int) -> None:
    a = odd(kind, *shape)
    whole = (a, spread_out(a))
    both(lambda: tuple(make(x, diagonal) for x in whole for make in (cpu.tril, cpu.triu)))


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_tables(kind: str) -> None:
    index, grad = positions(7, 4, 5), numbers(kind, 4, 5, 3)

    def run() -> Any:
        return cpu.embedding_dense_backward(grad, index, 7, 2, True), cpu.embedding(
            grad[0], index % 5, -1, False, False
        )

    both(run)


@for_each("make", [positions, lambda n, *shape: -positions(n, *shape), lambda n, *shape: positions(2 * n, *shape)])
@for_each("shape", [(), (5,), (3, 4), (0,)])
def test_one_hot(make: Any, shape: Any) -> None:
    a = np.asarray(make(6, *shape))
    both(lambda: cpu.one_hot(a, 6))


@pytest.mark.parametrize("index", [[0, 4], [5, 0], [-1, 2], []])
def test_all_below(index: Any) -> None:
    a = np.array(index, "int64")
    both(lambda: np.array([indexing.all_below(x, 5) for x in (a, a.astype("int32"), a[::-1]) if x.size]))


@for_each("kind", KINDS)
@for_each("make", [numbers, odd])
@for_each("shape", [(3, 9), (4, 5, 6)])
@for_each("reduction", [0, 1, 2])
@for_each("weighted", [False, True])
def test_nll_loss(kind: str, make: Any, shape: Any, reduction: int, weighted: bool) -> None:
    a, target = make(kind, *shape), positions(shape[1], shape[0], *shape[2:])
    weight = abs(numbers(kind, shape[1])) if weighted else None
    both(lambda: tuple(cpu.nll_loss_forward(a, target, weight, reduction, ignored) for ignored in (-100, 1)))


@for_each("kind", KINDS)
@for_each("make", [numbers, odd])
@pytest.mark.parametrize("shape", [shape for shape in ROWS if math.prod(shape) < 5000] + [(40, 60)])
def test_order(kind: str, make: Any, shape: Any) -> None:
    a = make(kind, *shape)

    def run() -> Any:
        made: list[Any] = [f(a, dim) for f in (cpu.cumsum, cpu.cumprod) for dim in (0, -1)]
        if a.size:
            n = shape[-1]
            for k in {1, 2, n // 2, n} & set(range(1, n + 1)):
                made += [
                    cpu.topk(a, k, dim, largest, in_order)
                    for dim in (a.ndim - 1,)
                    for largest in (True, False)
                    for in_order in (True, False)
                ]
                made.append(cpu.kthvalue(a, k, a.ndim - 1, False))
            made += [cpu.median_dim(a, a.ndim - 1, True), cpu.median_dim(a, 0, False)]
        return tuple(made)

    both(run)


# ---------------------------------------------------------------- recurrent layers


@for_each("kind", KINDS)
@for_each("make", [numbers, odd])
@pytest.mark.parametrize("steps, batch, features, n", [(1, 1, 1, 1), (3, 2, 4, 5), (4, 3, 2, 32)])
@for_each("reverse", [False, True])
def test_lstm(kind: str, make: Any, steps: int, batch: int, features: int, n: int, reverse: bool) -> None:
    x, (hx, cx) = make(kind, steps, batch, features), (numbers(kind, batch, n, seed=i) for i in (1, 2))
    shapes = (4 * n, features), (4 * n, n), (4 * n,), (4 * n,)
    weights = [numbers(kind, *shape, seed=3 + i) for i, shape in enumerate(shapes)]
    grads = (
        spread_out(numbers(kind, steps, batch, n, seed=9)),
        numbers(kind, n, batch, seed=10).T,
        np.broadcast_to(hx[:1], hx.shape),
    )

    def run() -> Any:
        out, hy, cy, kept = cpu.mkldnn_rnn_layer(x, *weights, hx, cx, reverse)
        back = cpu.mkldnn_rnn_layer_backward(x, *weights, hx, cx, out, hy, cy, *grads, reverse, kept)
        return out, hy, cy, kept.view(kind), *back

    both(run)


# ---------------------------------------------------------------- optimizers

ADAM = {"plain": (0, None), "decay": (0.1, None), "decoupled": (0.1, 0.9), "decoupled without decay": (0, 1.0)}


@for_each("kind", KINDS)
@for_each("make", [numbers, odd])
@for_each("shape", [(1,), (3, 5), (70, 33), (0,)])
@for_each("largest", [False, True])
@for_each("rest", [0.1, 0.7])
@pytest.mark.parametrize("decay", ADAM)
def test_adam(kind: str, make: Any, shape: Any, largest: bool, rest: float, decay: str) -> None:
    steps = (*ADAM[decay], rest, 0.999, 0.001, 0.3, 1e-8, -0.01)
    in_turn(optim.Adam, "adam", kind, make, shape, 3 if largest else 2, steps)


@for_each("kind", KINDS)
@for_each("make", [numbers, odd])
@for_each("shape", [(1,), (3, 5), (70, 33), (0,)])
@pytest.mark.parametrize(
    "momentum, share, nesterov", [(0, 1, False), (0.9, None, False), (0.9, 1, True), (0.9, 0.4, False)]
)
@for_each("decay", [0, 0.1])
def test_sgd(kind: str, make: Any, shape: Any, momentum: float, share: Any, nesterov: bool, decay: float) -> None:
    in_turn(optim.SGD, "sgd", kind, make, shape, 1 if momentum else 0, (-0.1, momentum, share, decay, nesterov))


def in_turn(optimizer: Any, name: str, kind: str, make: Any, shape: Any, states: int, steps: Any) -> None:
    """Two steps by the compiled rule and by the composed one."""
    made = []
    for run in (getattr(cpu.rules, name), optimizer.rule):
        p, grad, state = (
            make(kind, *shape),
            make(kind, *shape)[::-1].copy(),
            tuple(abs(numbers(kind, *shape, seed=i)) for i in range(states)),
        )
        assert cpu.rules.fits((p, grad, *state))
        with np.errstate(all="ignore"):
            for _ in range(2):
                run(updates(p), p, grad, state, steps)
        made.append((p, *state))
    same(*made)


def test_rules_take_arrays_in_one_piece_only() -> None:
    a = numbers("float32", 4, 6)
    assert cpu.rules.fits((a, a))
    assert not any(
        map(cpu.rules.fits, [(a, spread_out(a)), (a.T, a), (a, a.astype("float64")), (a.astype("float16"),)])
    )

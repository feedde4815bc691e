"""The rows of docs/performance.md that need no more than arithmetic, on MyGrad and on HIPS autograd."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
from rows import Turn, numbers


def _pairwise(leaves: Any) -> Any:
    level = list(leaves)
    while len(level) > 1:
        rest = level[len(level) & ~1 :]
        level = [a + b for a, b in zip(level[::2], level[1::2], strict=False)] + rest
    return level[0]


def _chained(np_like: Any, x: Any) -> Any:
    h = x
    for _ in range(250):
        h = np_like.exp(np_like.sin(h * x + x))
    return h


def mygrad_rows() -> dict[str, Callable[[], Turn]]:
    """By name, as far as MyGrad has what they need."""
    import mygrad as mg

    def of(made: Callable[..., Any], inputs: Callable[[], list[Any]]) -> Callable[[], Turn]:
        def make() -> Turn:
            leaves = [mg.tensor(a) for a in inputs()]

            def turn() -> list[float]:
                for leaf in leaves:
                    leaf.null_grad()
                made(*leaves).backward()
                return [float(np.sum(leaves[0].grad)), float(np.sum(leaves[-1].grad))]

            return turn

        return make

    return {
        "chain_0d": of(lambda x: _chained(mg, x), lambda: [np.float32(0.5)]),
        "chain_16": of(lambda x: _chained(mg, x).sum(), lambda: [np.full(16, 0.5, np.float32)]),
        "elementwise_4m": of(
            lambda x, y: (1 / (1 + mg.exp(-(mg.exp(x) * y + x)))).sum(), lambda: numbers(1, (2000, 2000), (2000, 2000))
        ),
        "matmul_1024": of(lambda x, y: (x @ y).sum(), lambda: numbers(1, (1024, 1024), (1024, 1024))),
        "leaves_pairwise": of(
            lambda *leaves: _pairwise(leaves), lambda: [np.float32(1 + i % 7) for i in range(10_000)]
        ),
        "leaf_many_times": of(lambda x: reduce(lambda h, _: h + x, range(10_000), x), lambda: [np.float32(0.5)]),
    }


def hips_rows() -> dict[str, Callable[[], Turn]]:
    """By name, as far as HIPS autograd has what they need; its results are float64 where it makes numbers itself."""
    import autograd.numpy as anp
    from autograd import grad

    def of(made: Callable[..., Any], inputs: Callable[[], list[Any]]) -> Callable[[], Turn]:
        def make() -> Turn:
            given = inputs()
            gradients = grad(lambda every: made(*every))

            def turn() -> list[float]:
                found = gradients(given)
                return [float(np.sum(found[0])), float(np.sum(found[-1]))]

            return turn

        return make

    return {
        "chain_0d": of(lambda x: _chained(anp, x), lambda: [np.float32(0.5)]),
        "chain_16": of(lambda x: anp.sum(_chained(anp, x)), lambda: [np.full(16, 0.5, np.float32)]),
        "elementwise_4m": of(
            lambda x, y: anp.sum(1 / (1 + anp.exp(-(anp.exp(x) * y + x)))),
            lambda: numbers(1, (2000, 2000), (2000, 2000)),
        ),
        "matmul_1024": of(lambda x, y: anp.sum(x @ y), lambda: numbers(1, (1024, 1024), (1024, 1024))),
        "leaf_many_times": of(lambda x: reduce(lambda h, _: h + x, range(10_000), x), lambda: [np.float32(0.5)]),
    }

"""The gated linear unit and its gradient, compiled, give the bits and the layout that their steps give."""

import itertools
from typing import Any

import numpy as np

from autograph_cli.torch._kernels import cpu
from tests.cases import for_each
from tests.torch.kernels.compared import KINDS, both, needs_compiled, numbers, odd, spread_out

pytestmark = needs_compiled


@for_each("kind", KINDS)
@for_each("make", [numbers, odd])
@for_each("shape", [(2,), (2, 1), (4, 6), (2, 4, 6), (64, 64), (2, 0), (6, 1, 2, 2)])
def test_gates(kind: str, make: Any, shape: Any) -> None:
    a = make(kind, *shape)

    def run() -> Any:
        found = []
        for x, dim in itertools.product((a, spread_out(a), np.asfortranarray(a)), range(-1, len(shape))):
            if shape[dim] % 2 == 0:
                made = cpu.glu(x, dim)
                grad = numbers(kind, *made.shape, seed=1)
                grads = (grad, spread_out(grad), np.broadcast_to(grad[:1], grad.shape))
                found += [made, *(cpu.glu_backward(g, x, dim) for g in grads)]
        return tuple(found)

    both(run)

"""Arrays joined by the compiled module: the same as by NumPy."""

from typing import Any

import numpy as np
import pytest

from autograph_cli.torch._kernels import cpu
from tests.cases import for_each
from tests.torch.kernels.compared import KINDS, both, needs_compiled, numbers, spread_out

pytestmark = needs_compiled


@for_each("kind", [*KINDS, "int64", "bool", "complex64"])
@for_each("shape", [(4,), (3, 4), (2, 3, 4), (1, 2, 1, 5), (2, 0, 3), (1, 1), (2, 3, 4, 1, 2)])
@for_each("spread", [False, True])
def test_joining(kind: str, shape: tuple[int, ...], spread: bool) -> None:
    every = [numbers("float32", *shape, seed=i).astype(kind) for i in range(3)]
    every[1] = spread_out(every[1]) if spread else every[1]

    def run() -> Any:
        found = [cpu.stack(every, dim) for dim in range(len(shape) + 1)]
        for dim in range(len(shape)):
            longer = np.concatenate([every[0], every[2]], dim)
            found += [cpu.cat([every[1], longer, every[0]], dim), cpu.cat([every[1]], dim), cpu.cat(every[:2], dim)]
        return tuple(found)

    both(run)


def test_joining_what_differs() -> None:
    row, number = numbers("float32", 3), np.float32(2)

    def run() -> Any:
        mixed = cpu.cat([row, numbers("float64", 2)]), cpu.cat([np.zeros(0, np.float32), numbers("float32", 2, 2)], 0)
        return *mixed, cpu.stack([number, number]), cpu.stack([number, np.float64(3)])

    both(run)
    for wrong in ([row, numbers("float32", 2, 2)], [numbers("float32", 2, 3), numbers("float32", 3, 2)]):
        with pytest.raises(ValueError, match="dimension"):
            cpu.cat(wrong, 0)

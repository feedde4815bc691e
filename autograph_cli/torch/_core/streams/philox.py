"""The random stream of a GPU of PyTorch: Philox4x32-10, drawn as PyTorch's kernels draw.

The generator is that of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011). Which thread of a kernel
draws which number follows PyTorch's `DistributionTemplates.h`: as many threads as the GPU runs at once, each draws four
numbers of 32 bits (two of 64) for elements that are one round of all threads apart.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..base.errors import refused
from .stream import DEFAULT_SEED, Seeded

Array = Any
LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)
MULTIPLIERS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
WEYL = 0x9E3779B9, 0xBB67AE85
BLOCK = 256
"""The threads of a block."""
STATE_BYTES = 16


class Philox(Seeded):
    """A seed, and how many numbers of 32 bits each thread has drawn.

    >>> Philox(0).bits32(3)
    array([1713891541, 2219120097,  107075191], dtype=uint64)
    """

    __slots__ = ("_offset", "threads", "xp")

    def __init__(self, seed: int = DEFAULT_SEED, xp: Any = np, threads: int = 132 * 2048) -> None:
        self.xp = xp
        self.threads = threads
        """The number of threads that the GPU runs at once."""
        self.manual_seed(seed)

    def manual_seed(self, seed: int) -> None:
        """Start over from `seed`, -2**63 to 2**64 - 1; ValueError outside."""
        super().manual_seed(seed)
        self._offset = 0

    def get_state(self) -> Array:
        """Seed and offset, as the 16 bytes of `torch.cuda.get_rng_state()`."""
        return np.frombuffer(np.array([self._seed, self._offset], "<u8").tobytes(), np.uint8).copy()

    def set_state(self, state: Array) -> None:
        """Go on from the bytes of `get_state`; TypeError or RuntimeError where they are none."""
        if state.dtype != np.uint8:
            raise refused(TypeError, "RNG state must be a torch.ByteTensor")
        if state.size != STATE_BYTES:
            raise RuntimeError("RNG state is wrong size")
        self._seed, self._offset = map(int, np.frombuffer(state.tobytes(), "<u8"))

    # ------------------------------------------------------------ numbers of no distribution

    def bits32(self, count: int) -> Array:
        """Numbers of 32 bits, on the CPU."""
        return self._drawn(count, 4, np).reshape(-1)[:count]

    def bits64(self, count: int) -> Array:
        """Numbers of 64 bits, on the CPU."""
        return _wide(self._drawn(count, 2, np)).reshape(-1)[:count]

    def _drawn(self, count: int, each: int, xp: Any) -> Array:
        """Return what the threads draw, each for `each` elements at once, as (rounds, 4, threads) numbers of 32
        bits."""
        threads = BLOCK * min(self.threads // BLOCK, -(-count // BLOCK))
        rounds = -(-count // (threads * each)) if count else 0
        counter = xp.arange(rounds, dtype="uint64")[:, None] + np.uint64(self._offset // 4)
        self._offset += 4 * rounds
        return _philox(self._seed, counter, xp.arange(threads, dtype="uint64"), xp)

    # ------------------------------------------------------------ distributions, as the samplers of generator.py

    def _unit(self, count: int, wide: bool) -> Array:
        """Numbers above 0 and up to 1, as (rounds, elements, threads): of 32 bits in float32, of 53 in float64."""
        drawn = self._drawn(count, 2 if wide else 4, self.xp)
        if wide:
            return (drawn[:, 0::2] ^ (drawn[:, 1::2] << np.uint64(21))).astype("float64") * 2.0**-53 + 2.0**-54
        return drawn.astype("float32") * np.float32(2.0**-32) + np.float32(2.0**-33)

    def uniform(self, shape: Any, dtype: Any, low: float = 0.0, high: float = 1.0) -> Array:
        """`empty(shape, dtype).uniform_(low, high)`."""
        count = math.prod(shape)
        unit = self._unit(count, dtype == np.float64).reshape(-1)[:count]
        if (low, high) != (0.0, 1.0):
            unit = (unit.astype("float64") * (high - low) + low).astype(unit.dtype)
        values = unit.astype(dtype)
        return self.xp.where(values == dtype.type(high), self.xp.full((), low, dtype), values).reshape(shape)

    def normal(self, shape: Any, dtype: Any, mean: float = 0.0, std: float = 1.0, **_: Any) -> Array:
        """`empty(shape, dtype).normal_(mean, std)`, by pairs of numbers (Box and Muller)."""
        xp, count = self.xp, math.prod(shape)
        unit = self._unit(count, dtype == np.float64)
        size, angle = xp.sqrt(-2 * xp.log(unit[:, 0::2])), unit[:, 1::2] * unit.dtype.type(2 * math.pi)
        drawn = xp.stack([size * xp.sin(angle), size * xp.cos(angle)], 2).reshape(-1)[:count]
        return (drawn * unit.dtype.type(std) + unit.dtype.type(mean)).astype(dtype).reshape(shape)

    def below(self, shape: Any, span: int, wide: bool) -> Array:
        """Integers below `span`, without a sign, of 64 bits where `wide`."""
        count = math.prod(shape)
        drawn = self._drawn(count, 2 if wide else 4, self.xp)
        bits = (_wide(drawn) if wide else drawn).reshape(-1)[:count].reshape(shape)
        return bits if span == 1 << 64 else bits % np.uint64(span)

    def bernoulli(self, shape: Any, dtype: Any, p: float = 0.5) -> Array:
        """`empty(shape, dtype).bernoulli_(p)`."""
        count = math.prod(shape)
        unit = self._unit(count, dtype == np.float64).reshape(-1)[:count]
        return (unit < unit.dtype.type(p)).astype(dtype).reshape(shape)

    def bernoulli_each(self, p: Array, dtype: Any) -> Array:
        """`bernoulli(p)` for a probability per element: one thread draws for four neighbours."""
        thread = self.xp.arange(-(-p.size // 4), dtype="uint64")
        words = _philox(self._seed, thread[:, None][:1] * np.uint64(0) + np.uint64(self._offset // 4), thread, self.xp)
        self._offset += 12
        bits = words.reshape(4, -1).T.reshape(-1)[: p.size].reshape(p.shape)
        return (bits.astype("float32") * np.float32(2.0**-32) + np.float32(2.0**-33) <= p).astype(dtype)

    def dropout_mask(self, shape: Any, p: float) -> Array:
        """Return which elements dropout keeps, each with probability `p`: a thread draws for 4, 2 or 1 neighbours."""
        count = math.prod(shape)
        unit = self._unit(count, False)
        if count % 4 == 0:
            unit = unit.swapaxes(1, 2)
        elif count % 2 == 0:
            unit = unit.reshape(len(unit), 2, 2, -1).swapaxes(2, 3)
        return (unit.reshape(-1)[:count] < np.float32(p)).reshape(shape)


def _wide(drawn: Array) -> Array:
    """Pairs of numbers of 32 bits as numbers of 64, the first half the high one."""
    return (drawn[:, 0::2] << HALF) | drawn[:, 1::2]


def _philox(seed: int, counter: Array, thread: Array, xp: Any) -> Array:
    """Ten rounds over (counter, thread): four numbers of 32 bits for each, as (counters, 4, threads)."""
    zero = (counter ^ counter) + (thread ^ thread)
    words = [zero + (counter & LOW), zero + (counter >> HALF), zero + (thread & LOW), zero + (thread >> HALF)]
    keys = [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        first, second = words[0] * MULTIPLIERS[0], words[2] * MULTIPLIERS[1]
        words = [
            (second >> HALF) ^ words[1] ^ np.uint64(keys[0]),
            second & LOW,
            (first >> HALF) ^ words[3] ^ np.uint64(keys[1]),
            first & LOW,
        ]
        keys = [(key + step) & 0xFFFFFFFF for key, step in zip(keys, WEYL, strict=True)]
    return xp.stack(words, 1)

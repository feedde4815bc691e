"""The CPU random stream of PyTorch: one Mersenne twister, with the state that `torch.Generator` shows."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

import numpy as np

from ..._arrays import Array
from ..base.errors import refused

if TYPE_CHECKING:
    import numpy.typing as npt

DEFAULT_SEED = 67280421310721
TWISTER_WORDS = 624
_making = threading.Lock()

# torch.Generator.get_state() is this record, byte for byte.
STATE = np.dtype(
    [
        ("seed", "<u8"),
        ("left", "<i4"),
        ("seeded", "<i4"),
        ("next", "<u8"),
        ("words", "<u8", TWISTER_WORDS),
        ("normal_x", "<f8"),
        ("normal", "<f8"),
        ("normal_rho", "<f8"),
        ("has_normal", "<i4"),
        ("float_normal", "<f4"),
        ("has_float_normal", "?"),
    ],
    align=True,
)


class Seeded:
    """A random stream that starts from a seed and keeps the spare normal of an odd draw."""

    __slots__ = ("_seed", "spare_normal")

    def manual_seed(self, seed: int) -> None:
        """Start over from `seed`, -2**63 to 2**64 - 1; ValueError outside."""
        if not -(1 << 63) <= seed < 1 << 64:
            raise refused(ValueError, "Overflow when unpacking long long")
        self._seed = seed % (1 << 64)
        self.spare_normal: float | None = None

    def seed(self) -> int:
        """Start over from a seed that the operating system gives, and return it."""
        self.manual_seed(int.from_bytes(os.urandom(7), "big") >> 3)
        return self._seed

    def initial_seed(self) -> int:
        """The seed of the last `manual_seed`, as an unsigned 64-bit number."""
        return self._seed


class Stream(Seeded):
    """A Mersenne twister in PyTorch's dress, with its state bytes.

    >>> Stream(0).bits32(2)
    array([2357136044, 2546248239], dtype=uint64)
    """

    __slots__ = ("_twister",)

    def __init__(self, seed: int = DEFAULT_SEED) -> None:
        self.manual_seed(seed)

    def manual_seed(self, seed: int) -> None:
        """Start over from `seed`, -2**63 to 2**64 - 1; ValueError outside. The twister itself takes the low 32 bits."""
        super().manual_seed(seed)
        self._twister: np.random.MT19937 | None = None

    @property
    def drawn(self) -> bool:
        """Return whether a number was drawn, or the state asked for, since it was started from a seed."""
        return self._twister is not None

    @property
    def twister(self) -> np.random.MT19937:
        """The twister, made when the first number is drawn: `numpy.random` is a sixth of an import of NumPy."""
        if self._twister is None:
            with _making:
                if self._twister is None:
                    made = np.random.MT19937(0)
                    np.random.RandomState(made).seed(self._seed & 0xFFFFFFFF)
                    self._twister = made
        return self._twister

    def bits32(self, count: int) -> npt.NDArray[np.uint64]:
        """The next `count` outputs of the twister, 32 bits each."""
        return self.twister.random_raw(count)

    def bits64(self, count: int) -> npt.NDArray[np.uint64]:
        """The next `count` 64-bit numbers, each from two outputs, the high half first."""
        raw = self.twister.random_raw(2 * count)
        return (raw[0::2] << np.uint64(32)) | raw[1::2]

    def get_state(self) -> npt.NDArray[np.uint8]:
        """The state as the 5056 bytes of `torch.Generator.get_state()`."""
        twister = self.twister.state["state"]
        words, position = twister["key"], twister["pos"]
        record = np.zeros((), STATE)
        record["seed"] = self._seed
        record["seeded"] = 1
        record["left"] = TWISTER_WORDS + 1 - position
        # A twister just seeded has made no block yet; PyTorch says so by next = 0.
        fresh = position == TWISTER_WORDS and int(words[0]) == self._seed & 0xFFFFFFFF
        record["next"] = 0 if fresh else position
        record["words"] = words
        if self.spare_normal is not None:
            record["normal"], record["has_normal"] = self.spare_normal, 1
        return np.frombuffer(record.tobytes(), np.uint8).copy()

    def set_state(self, state: Array) -> None:
        """Go on from the bytes of `get_state`; TypeError or RuntimeError where they are none."""
        if state.dtype != np.uint8:
            raise refused(TypeError, "RNG state must be a torch.ByteTensor")
        if state.size != STATE.itemsize:
            raise RuntimeError(
                f"Expected a CPUGeneratorImplState of size {STATE.itemsize} "
                f"but found the input RNG state size to be {state.size}"
            )
        record = np.frombuffer(state.tobytes(), STATE)[0]
        position = TWISTER_WORDS + 1 - int(record["left"])
        in_step = int(record["next"]) == position or (position == TWISTER_WORDS and record["next"] == 0)
        if record["seeded"] != 1 or not 1 <= position <= TWISTER_WORDS or not in_step:
            raise RuntimeError("Invalid mt19937 state")
        words = record["words"].astype(np.uint32)
        self.twister.state = {"bit_generator": "MT19937", "state": {"key": words, "pos": position}}
        self._seed = int(record["seed"])
        self.spare_normal = float(record["normal"]) if record["has_normal"] else None

"""Generators of random numbers: the default one and those that a script makes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..._arrays import cuda
from ..._core.base import device as devices
from ..._core.base.class_names import Named
from ..._core.base.errors import refused
from ..._core.operations.registry import composite
from ..._core.streams.generator import default_stream
from ..._core.streams.philox import Philox
from ..._core.streams.stream import DEFAULT_SEED, Stream
from ..._core.tape.tensor import Tensor, make


class Generator(metaclass=Named):
    """A stream of random numbers with a seed and a state of its own.

    >>> from autograph_cli import torch
    >>> torch.rand(2, generator=torch.Generator().manual_seed(0))
    tensor([0.4963, 0.7682])
    """

    __slots__ = ("device", "stream")

    def __init__(self, device: Any = "cpu") -> None:
        self.device = devices.check(device)
        on_gpu = self.device.type == "cuda"
        self.stream: Stream | Philox = cuda.opened().new_stream(self.device.index, DEFAULT_SEED) if on_gpu else Stream()

    def manual_seed(self, seed: int) -> Generator:
        """Start over from `seed`; ValueError if it has more than 64 bits."""
        self.stream.manual_seed(int(seed))
        return self

    def seed(self) -> int:
        """Start over from a seed of the operating system's, and return it."""
        return self.stream.seed()

    def initial_seed(self) -> int:
        """The seed that the stream was last started from."""
        return self.stream.initial_seed()

    def get_state(self) -> Tensor:
        """The state as a tensor of 5056 bytes, of 16 for a GPU's."""
        return make(self.stream.get_state())

    def set_state(self, new_state: Tensor) -> Generator:
        """Go on from the state that `get_state` returned; TypeError or RuntimeError for anything else."""
        if not isinstance(new_state, Tensor):
            raise refused(TypeError, f"expected a torch.ByteTensor, but got {type(new_state).__name__}")
        self.stream.set_state(new_state._ag_raw)
        return self

    def clone_state(self) -> Generator:
        """A generator that goes on as this one would."""
        return Generator(self.device).set_state(self.get_state())

    def __reduce__(self) -> Any:
        return _restored, (self.stream.get_state(), self.device)


def _restored(state: Any, device: Any = "cpu") -> Generator:
    return Generator(device).set_state(make(state))


default_generator = Generator()
default_generator.stream = default_stream


@composite(method=False)
def manual_seed(seed: int) -> Generator:
    """Start the default generator over from `seed`, and return it.

    >>> from autograph_cli import torch
    >>> _ = torch.manual_seed(0)
    >>> torch.rand(3)
    tensor([0.4963, 0.7682, 0.0885])
    """
    default_generator.manual_seed(seed)
    cuda.seed_all(int(seed))
    return default_generator


@composite(method=False)
def seed() -> int:
    """Start the default generator over from a seed of the operating system's, and return it."""
    chosen = default_generator.seed()
    cuda.seed_all(chosen)
    return chosen


@composite(method=False)
def initial_seed() -> int:
    """The seed that the default generator was last started from."""
    return default_generator.initial_seed()


@composite(method=False)
def get_rng_state() -> Tensor:
    """The state of the default generator."""
    return default_generator.get_state()


@composite(method=False)
def set_rng_state(new_state: Tensor) -> None:
    """Let the default generator go on from a state."""
    default_generator.set_state(new_state)


@contextmanager
def fork_rng(devices: Any = None, enabled: bool = True, device_type: str = "cpu") -> Iterator[None]:
    """A block after which the default generators go on as if the block had not been there."""
    state, gpus = default_generator.get_state(), cuda.states()
    try:
        yield
    finally:
        if enabled:
            default_generator.set_state(state)
            cuda.set_states(gpus)

"""Samplers: the order in which a dataset is read; the random ones draw PyTorch's numbers."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence, Sized
from typing import Any, Generic, TypeVar

from ..._core.base.dtypes import float64, int64
from ..._core.operations.registry import functions
from ..._ops.random_numbers.generators import Generator

T_co = TypeVar("T_co", covariant=True)
DRAWN_AT_ONCE = 32


class Sampler(Generic[T_co]):
    """Indices, or lists of them, one after the other: a subclass gives `__iter__`."""

    def __init__(self, data_source: Any = None) -> None:
        pass

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError


class SequentialSampler(Sampler[int]):
    """All indices in order."""

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


def draw_seed(generator: Any = None) -> int:
    """A seed, drawn as PyTorch draws those of its samplers and workers."""
    return int(functions["empty"]((), dtype=int64).random_(generator=generator).item())


class RandomSampler(Sampler[int]):
    """Indices in random order, or `num_samples` of them, each as often as it is drawn if `replacement`.

    TypeError for a `replacement` that is no bool, ValueError for a `num_samples` that is no positive integer.

    >>> from autograph_cli import torch
    >>> _ = torch.manual_seed(0)
    >>> list(torch.utils.data.RandomSampler(range(5)))
    [1, 3, 4, 2, 0]
    """

    def __init__(
        self, data_source: Sized, replacement: bool = False, num_samples: int | None = None, generator: Any = None
    ) -> None:
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(replacement, bool):
            raise TypeError(f"replacement should be a boolean value, but got replacement={replacement}")
        if not isinstance(self.num_samples, int) or self.num_samples <= 0:
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={self.num_samples}")

    @property
    def num_samples(self) -> int:
        """Return how many indices are drawn."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        n, wanted, generator = len(self.data_source), self.num_samples, self.generator
        if generator is None:
            seed = draw_seed()
            generator = Generator()
            generator.manual_seed(seed)
        if self.replacement:
            for start in range(0, wanted, DRAWN_AT_ONCE):
                size = (min(DRAWN_AT_ONCE, wanted - start),)
                yield from functions["randint"](
                    high=n, size=size, dtype=int64, generator=generator, device=generator.device
                ).tolist()
        else:
            # The last permutation is drawn even if nothing of it is needed, so that the generator ends where PyTorch's
            # does.
            for length in [n] * (wanted // n) + [wanted % n]:
                yield from functions["randperm"](n, generator=generator, device=generator.device).tolist()[:length]

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """The given indices in random order."""

    def __init__(self, indices: Sequence[int], generator: Any = None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        for i in functions["randperm"](len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """`num_samples` indices, drawn by weight. ValueError for arguments that are not of that kind."""

    def __init__(
        self, weights: Sequence[float], num_samples: int, replacement: bool = True, generator: Any = None
    ) -> None:
        if not isinstance(num_samples, int) or isinstance(num_samples, bool) or num_samples <= 0:
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={num_samples}")
        if not isinstance(replacement, bool):
            raise ValueError(f"replacement should be a boolean value, but got replacement={replacement}")
        self.weights = functions["as_tensor"](weights, dtype=float64)
        if self.weights.ndim != 1:
            raise ValueError(
                f"weights should be a 1d sequence but given weights have shape {tuple(self.weights.shape)}"
            )
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        drawn = functions["multinomial"](self.weights, self.num_samples, self.replacement, generator=self.generator)
        yield from drawn.tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Lists of `batch_size` indices of another sampler; the last may be shorter, or is left out.

    >>> from autograph_cli import torch
    >>> list(torch.utils.data.BatchSampler(range(5), 2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Any, batch_size: int, drop_last: bool) -> None:
        if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size <= 0:
            raise ValueError(f"batch_size should be a positive integer value, but got batch_size={batch_size}")
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        while batch := list(itertools.islice(indices, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        count: int = len(self.sampler)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)


class Endless(Sampler[None]):
    """None for ever: the sampler of datasets that can only be iterated."""

    def __iter__(self) -> Iterator[None]:
        return itertools.repeat(None)

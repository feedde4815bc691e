"""Datasets: what can be indexed, what can only be iterated, and how they are put together and taken apart."""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from ..._core.base.user_warnings import warn
from ..._core.operations.registry import functions
from ..._core.tape.tensor import Tensor
from ..._ops.random_numbers.generators import default_generator

T_co = TypeVar("T_co", covariant=True)


class Dataset(Generic[T_co]):
    """Samples by index: a subclass gives `__getitem__`, and `__len__` where its length is known.

    `__getitems__(indices)`, where there is one, gives the samples of a batch at once.
    """

    def __getitem__(self, index: Any) -> T_co:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset[Any]) -> ConcatDataset:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co], Iterable[T_co]):
    """Samples one after the other: a subclass gives `__iter__`. Each worker iterates a copy of its own."""

    def __add__(self, other: Any) -> Any:
        return ChainDataset([self, other])


class TensorDataset(Dataset[Any]):
    """The rows of tensors of the same length. AssertionError where the lengths differ.

    >>> from autograph_cli import torch
    >>> torch.utils.data.TensorDataset(torch.arange(3), torch.ones(3))[1]
    (tensor(1), tensor(1.))
    """

    def __init__(self, *tensors: Tensor) -> None:
        assert all(t.size(0) == tensors[0].size(0) for t in tensors), "Size mismatch between tensors"
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Any, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        return int(self.tensors[0].shape[0])


class StackDataset(Dataset[Any]):
    """The samples of several datasets side by side: as tuples, or by name as dicts. ValueError where lengths differ."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError(
                "Supported either ``tuple``- (via ``args``) or ``dict``- (via ``kwargs``) like input/output, "
                "but both types are given."
            )
        if not args and not kwargs:
            raise ValueError("At least one dataset should be passed")
        self.datasets: Any = args or kwargs
        lengths = {len(part) for part in (args or kwargs.values())}
        if len(lengths) > 1:
            raise ValueError("Size mismatch between datasets")
        [self._length] = lengths

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {name: part[index] for name, part in self.datasets.items()}
        return tuple(part[index] for part in self.datasets)

    def __len__(self) -> int:
        return self._length


class ConcatDataset(Dataset[Any]):
    """One dataset after the other. AssertionError for none, and for datasets that can only be iterated."""

    @staticmethod
    def cumsum(sequence: Iterable[Any]) -> list[int]:
        """The lengths added up."""
        return list(itertools.accumulate(len(part) for part in sequence))

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        assert self.datasets, "datasets should not be an empty iterable"
        for part in self.datasets:
            assert not isinstance(part, IterableDataset), "ConcatDataset does not support IterableDataset"
        self.cumulative_sizes = self.cumsum(self.datasets)

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> Any:
        if index < 0:
            if -index > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            index += len(self)
        part = bisect.bisect_right(self.cumulative_sizes, index)
        return self.datasets[part][index - (self.cumulative_sizes[part - 1] if part else 0)]


class ChainDataset(IterableDataset[Any]):
    """One iterable dataset after the other."""

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = datasets

    def __iter__(self) -> Iterator[Any]:
        for part in self.datasets:
            assert isinstance(part, IterableDataset), "ChainDataset only supports IterableDataset"
            yield from part

    def __len__(self) -> int:
        total = 0
        for part in self.datasets:
            assert isinstance(part, IterableDataset), "ChainDataset only supports IterableDataset"
            total += len(part)  # type: ignore[arg-type]
        return total


class Subset(Dataset[Any]):
    """The samples of a dataset at the given indices."""

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __getitems__(self, indices: list[int]) -> list[Any]:
        chosen = [self.indices[i] for i in indices]
        if callable(getattr(self.dataset, "__getitems__", None)):
            result: list[Any] = self.dataset.__getitems__(chosen)
            return result
        return [self.dataset[i] for i in chosen]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(dataset: Any, lengths: Sequence[float], generator: Any = default_generator) -> list[Subset]:
    """Disjoint random subsets of the given lengths, or of the given parts of the whole, which add up to 1.

    ValueError for lengths that do not add up to that of the dataset, or parts outside [0, 1].

    >>> from autograph_cli import torch
    >>> [len(part) for part in torch.utils.data.random_split(range(10), [0.75, 0.25])]
    [8, 2]
    """
    counts = list(lengths)
    if math.isclose(sum(counts), 1) and sum(counts) <= 1:
        counts = _parts(counts, len(dataset))
    if sum(counts) != len(dataset):
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = functions["randperm"](
        int(sum(counts)), generator=generator, device=getattr(generator, "device", None)
    ).tolist()
    ends = itertools.accumulate(int(n) for n in counts)
    return [Subset(dataset, order[end - int(n) : end]) for end, n in zip(ends, counts, strict=True)]


def _parts(parts: list[float], total: int) -> list[float]:
    counts: list[float] = []
    for i, part in enumerate(parts):
        if part < 0 or part > 1:
            raise ValueError(f"Fraction at index {i} is not between 0 and 1")
        counts.append(math.floor(total * part))
    for i in range(int(total - sum(counts))):
        counts[i % len(counts)] += 1
    for i, count in enumerate(counts):
        if count == 0:
            warn(f"Length of split at index {i} is 0. This might result in an empty dataset.")
    return counts

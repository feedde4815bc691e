"""Sequences of different lengths: padded, and packed step by step for recurrent layers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ... import _namespace as torch
from ..._core.tape.tensor import Tensor

__all__ = [
    "PackedSequence", "invert_permutation", "pack_padded_sequence", "pack_sequence", "pad_packed_sequence",
    "pad_sequence", "unpack_sequence", "unpad_sequence",
]  # fmt: skip


class _Fields(NamedTuple):
    data: Any
    batch_sizes: Any
    sorted_indices: Any
    unsorted_indices: Any


_Fields.__name__ = "PackedSequence"


def invert_permutation(permutation: Any) -> Any:
    """The permutation that undoes another; None stays None."""
    if permutation is None:
        return None
    output = torch.empty_like(permutation)
    output.scatter_(0, permutation, torch.arange(0, permutation.numel(), device=permutation.device))
    return output


class PackedSequence(_Fields):
    """The steps of several sequences, longest first: `data` has all first steps, then all second ones, and so on.

    `batch_sizes` says how many sequences each step has; the two permutations lead to that order and back.
    """

    def __new__(
        cls, data: Any, batch_sizes: Any = None, sorted_indices: Any = None, unsorted_indices: Any = None
    ) -> Any:
        if batch_sizes is None:
            if not isinstance(data, (list, tuple)) or len(data) != 2:
                raise AssertionError("PackedSequence needs data and batch_sizes")
            data, batch_sizes = data
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """The sequences with `data` in another dtype or position."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        indices = [x if x is None else x.to(data.device) for x in self[2:]]
        return type(self)(data, self.batch_sizes, *indices)

    def cpu(self, *args: Any, **kwargs: Any) -> Any:
        """The sequences in main memory."""
        return self.to(torch.device("cpu"), *args, **kwargs)

    def cuda(self, *args: Any, **kwargs: Any) -> Any:
        """The sequences on a GPU."""
        return self.to(torch.device("cuda"), *args, **kwargs)

    def pin_memory(self) -> Any:
        """The sequences in pinned memory."""
        return type(self)(self.data.pin_memory(), *self[1:])

    def double(self) -> Any:
        """The sequences as float64."""
        return self.to(dtype=torch.double)

    def float(self) -> Any:
        """The sequences as float32."""
        return self.to(dtype=torch.float)

    def half(self) -> Any:
        """The sequences as float16."""
        return self.to(dtype=torch.half)

    def long(self) -> Any:
        """The sequences as int64."""
        return self.to(dtype=torch.long)

    def int(self) -> Any:
        """The sequences as int32."""
        return self.to(dtype=torch.int)

    is_cuda = property(lambda self: self.data.is_cuda, doc="Whether `data` is on a GPU.")

    def is_pinned(self) -> bool:
        """Return whether `data` is in pinned memory."""
        return bool(self.data.is_pinned())


def pack_padded_sequence(
    input: Any, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Pack (L, N, *), or (N, L, *) with `batch_first`; unless `enforce_sorted`, lengths may be in any order.

    RuntimeError where lengths grow, are 0, or are not one for each sequence.

    >>> from autograph_cli import torch
    >>> packed = pack_padded_sequence(torch.tensor([[1, 3], [2, 0]]), [2, 1])
    >>> packed.data, packed.batch_sizes
    (tensor([1, 3, 2]), tensor([2, 1]))
    """
    if not isinstance(lengths, Tensor):
        lengths = torch.as_tensor(lengths, dtype=torch.int64)
    sorted_indices = None
    if not enforce_sorted:
        lengths, sorted_indices = torch.sort(lengths, descending=True)
        sorted_indices = sorted_indices.to(input.device)
        input = input.index_select(0 if batch_first else 1, sorted_indices)
    data, batch_sizes = torch._pack_padded_sequence(input, lengths, batch_first)
    packed: PackedSequence = PackedSequence(data, batch_sizes, sorted_indices, None)
    return packed


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Any, Any]:
    """(L, N, *) with padding, or (N, L, *) with `batch_first`, and the lengths; L may be made `total_length`."""
    padded, lengths = torch._pad_packed_sequence(
        sequence.data, sequence.batch_sizes, batch_first, padding_value, 0 if total_length is None else total_length
    )
    unsorted_indices = sequence.unsorted_indices
    if unsorted_indices is None:
        return padded, lengths
    return padded.index_select(0 if batch_first else 1, unsorted_indices), lengths[unsorted_indices.cpu()]


def pad_sequence(
    sequences: Any, batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Any:
    """Sequences of (length, *) beside each other, (L, N, *), filled up to the longest.

    >>> from autograph_cli import torch
    >>> pad_sequence([torch.tensor([1, 2]), torch.tensor([3])], batch_first=True)
    tensor([[1, 2],
            [3, 0]])
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        )
    rows = sequences.unbind(0) if isinstance(sequences, Tensor) else tuple(sequences)
    return torch.pad_sequence(rows, batch_first, padding_value, padding_side)


def unpad_sequence(padded_sequences: Any, lengths: Any, batch_first: bool = False) -> list[Any]:
    """The sequences that `pad_sequence` joined."""
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    positions = torch.arange(padded_sequences.shape[1])
    return [row[positions < length] for row, length in zip(padded_sequences, lengths, strict=False)]


def pack_sequence(sequences: Sequence[Any], enforce_sorted: bool = True) -> PackedSequence:
    """Pack sequences of (length, *)."""
    lengths = torch.as_tensor([x.size(0) for x in sequences])
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Any]:
    """The sequences that `pack_sequence` packed."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)

"""Sequences of different lengths, packed into one tensor and padded to one length."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from ..._core.base.errors import refused
from ..._core.operations.operation import operation, operations
from ..._core.operations.registry import composite
from ..._core.tape.tensor import Tensor
from ..tensors.creation import tensor

pack_op = operation(
    "_pack_padded_sequence(Tensor input, Tensor lengths, bool batch_first) -> (Tensor result0, Tensor result1)",
    nondifferentiable=("result1",),
    input=lambda f, grads, input_sizes, result1, batch_first: f._pack_padded_sequence_backward(
        grads[0], input_sizes, result1, batch_first
    ),
)


def _pack_backward(grad: Any, input_size: Any, batch_sizes: Any, batch_first: bool) -> Any:
    """The gradient of `_pack_padded_sequence`, recorded: steps put back into zeros."""
    made = operations.zeros_of((input_size[1], input_size[0], *input_size[2:]) if batch_first else input_size, grad)
    start = 0
    for t, size in enumerate(batch_sizes.tolist()):
        made[t][:size].add_(grad[start : start + size])
        start += size
    return made.transpose(0, 1) if batch_first else made


operations._pack_padded_sequence_backward = _pack_backward


@composite(method=False)
def _pack_padded_sequence(input: Tensor, lengths: Tensor, batch_first: bool) -> tuple[Tensor, Tensor]:
    """The steps of (steps, batch, *) that are no padding; `lengths` must not grow."""
    if lengths.is_cuda:
        kind = f"{lengths.ndim}D {lengths.device} {lengths.dtype.legacy.removesuffix('Tensor')}"
        raise RuntimeError(f"'lengths' argument should be a 1D CPU int64 tensor, but got {kind} tensor")
    given = lengths.tolist()
    batch = input._ag_raw.shape[0 if batch_first else 1]
    if not input._ag_raw.size:
        raise RuntimeError("Cannot pack empty tensors.")
    if len(given) != batch:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(given)} (batch_size={batch})"
        )
    if given[-1] <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
        )
    if any(a < b for a, b in pairwise(given)):
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
            "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you "
            "do not need ONNX exportability."
        )
    data, sizes = pack_op(input, lengths.to(input.device), batch_first)
    return data, sizes.cpu()


@composite(method=False)
def _pad_packed_sequence(
    data: Any, batch_sizes: Tensor, batch_first: bool, padding_value: float, total_length: int
) -> Any:
    """(steps, batch, *) with `padding_value` after the end of each sequence, and the lengths."""
    sizes = batch_sizes.tolist()
    steps = max(len(sizes), total_length)
    if 0 < total_length < len(sizes):
        raise refused(
            ValueError,
            "Expected total_length to be at least the length of the longest sequence in input, but got "
            f"total_length={total_length} and max sequence length being {len(sizes)}",
        )
    features = data._ag_raw.shape[1:]
    output = data.new_full((steps, sizes[0], *features), padding_value)
    start = since = 0
    lengths = []
    for t, size in enumerate([*sizes, 0]):
        before = sizes[t - 1] if t else sizes[0]
        if size == before:
            continue
        count = (t - since) * before
        part = data[start : start + count].view(t - since, before, *features)
        output.narrow(0, since, t - since).narrow(1, 0, before).copy_(part)
        start, since = start + count, t
        lengths += [t] * (before - size)
    lengths.reverse()
    return output.transpose(0, 1) if batch_first else output, tensor(lengths)


@composite(method=False)
def pad_sequence(
    sequences: Any, batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Any:
    """Sequences of (length, *) beside each other, filled up with `padding_value`."""
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    given = list(sequences)
    if not given:
        raise RuntimeError("received an empty list of sequences")
    longest = max(x._ag_raw.shape[0] for x in given)
    lead = (len(given), longest) if batch_first else (longest, len(given))
    output = given[0].new_full((*lead, *given[0]._ag_raw.shape[1:]), padding_value)
    for i, sequence in enumerate(given):
        length = sequence._ag_raw.shape[0]
        row = output.select(0 if batch_first else 1, i)
        row.narrow(0, longest - length if padding_side == "left" else 0, length).copy_(sequence)
    return output

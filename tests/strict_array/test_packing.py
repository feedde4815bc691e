"""Packed sequences on a GPU, and functions that say where a checkpoint goes."""

from __future__ import annotations

import io

import pytest

from autograph_cli import torch

pytestmark = pytest.mark.usefixtures("gpu")


@pytest.mark.parametrize(
    "where, device", [(lambda s, at: s, "cpu"), (lambda s, at: s.cuda(), "cuda:0"), (lambda s, at: None, "cuda:0")]
)
def test_a_function_says_where_a_checkpoint_goes(where: object, device: str) -> None:
    file = io.BytesIO()
    torch.save(torch.arange(3.0, device="cuda"), file)
    file.seek(0)
    found = torch.load(file, map_location=where)
    assert str(found.device) == device
    assert found.tolist() == [0.0, 1.0, 2.0]


@pytest.mark.parametrize("is_sorted", [True, False])
def test_packed_sequences_are_computed_with_on_a_gpu(is_sorted: bool) -> None:
    rnn = torch.nn.utils.rnn
    torch.manual_seed(0)
    net, x = torch.nn.GRU(4, 5, batch_first=True), torch.randn(2, 3, 4)
    lengths = torch.tensor([3, 2] if is_sorted else [2, 3])
    found = []
    for device in ("cpu", "cuda"):
        packed = rnn.pack_padded_sequence(x.to(device), lengths, batch_first=True, enforce_sorted=is_sorted)
        padded, sizes = rnn.pad_packed_sequence(net.to(device)(packed)[0], batch_first=True)
        assert padded.device.type == device and sizes.tolist() == lengths.tolist()
        found.append(padded.cpu())
    torch.testing.assert_close(*found)
    with pytest.raises(RuntimeError, match="should be a 1D CPU int64 tensor, but got 1D cuda:0 Long tensor"):
        rnn.pack_padded_sequence(x, lengths.cuda(), batch_first=True)


def test_packed_sequences_move_with_their_orders() -> None:
    rnn = torch.nn.utils.rnn
    packed = rnn.pack_sequence([torch.ones(2), torch.ones(3)], enforce_sorted=False).to("cuda")
    assert packed.is_cuda and packed.sorted_indices.is_cuda and packed.unsorted_indices.is_cuda
    assert not packed.batch_sizes.is_cuda

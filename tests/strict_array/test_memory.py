"""Memory of a GPU: how much of it tensors hold, what is shared with other libraries, and memory that a GPU reads."""

from __future__ import annotations

import importlib
from collections import namedtuple
from collections.abc import Callable
from typing import Any

import pytest

from autograph_cli import torch

pytestmark = pytest.mark.usefixtures("gpu")
Pair = namedtuple("Pair", "image label")
LARGE: dict[str, Callable[[Any], Any]] = {
    "empty": lambda x: torch.empty(1 << 20, device="cuda"),
    "full": lambda x: torch.full((1 << 20,), 2.0, device="cuda"),
    "cuda()": lambda x: torch.ones(1 << 20).cuda(),
    "*": lambda x: x.expand(1 << 20) * 2,
    "contiguous()": lambda x: x.expand(1 << 20).contiguous(),
    "zeros_like": lambda x: torch.zeros_like(x.expand(1 << 20)),
    "backward": lambda x: x.requires_grad_().expand(1 << 18).exp().exp().sum().backward(),
    "randn": lambda x: torch.randn(1 << 20, device="cuda"),
}
"""What needs 2 MiB and more; the exponentials of 1 MiB each fit, and what is multiplied by them does not."""


def test_the_most_bytes_that_tensors_have_held_are_counted() -> None:
    torch.ones(1, device="cuda")
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    x = torch.zeros(1024, device="cuda")
    held = torch.cuda.memory_allocated() - before
    assert held == 4096
    del x
    assert torch.cuda.memory_allocated() == before
    assert torch.cuda.max_memory_allocated() == before + held
    assert torch.cuda.memory_stats()["allocated_bytes.all.peak"] == before + held
    torch.cuda.reset_peak_memory_stats()
    assert torch.cuda.max_memory_allocated() == before


def test_what_is_kept_for_later_is_counted_and_given_back() -> None:
    torch.ones(1, device="cuda")
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_reserved()
    x = torch.empty(1 << 20, device="cuda")
    del x
    assert torch.cuda.memory_reserved() == torch.cuda.max_memory_reserved() == before + (4 << 20)
    torch.cuda.empty_cache()
    assert (torch.cuda.memory_reserved(), torch.cuda.max_memory_reserved()) == (before, before + (4 << 20))
    stats = torch.cuda.memory_stats()
    assert stats["allocation.all.current"] == stats["allocation.all.allocated"] - stats["allocation.all.freed"]
    assert stats["reserved_bytes.all.peak"] == before + (4 << 20)
    assert "| Allocated memory      |" in torch.cuda.memory_summary()


@pytest.mark.parametrize("name", LARGE)
def test_where_memory_is_full_the_error_says_what_was_asked_and_held(name: str) -> None:
    pool = importlib.import_module("cupy").get_default_memory_pool()
    x = torch.ones(1, device="cuda")
    pool.free_all_blocks()
    pool.set_limit(size=pool.used_bytes() + (9 << 18))
    asked = r"CUDA out of memory\. .*allocating [\d,]+ bytes.* GPU 0 has a total .* held by tensors"
    try:
        with pytest.raises(torch.cuda.OutOfMemoryError, match=asked):
            LARGE[name](x)
    finally:
        pool.set_limit(size=0)
    assert torch.cuda.memory_stats()["num_ooms"] >= 1


def test_dlpack_shares_memory_of_a_gpu() -> None:
    x = torch.arange(4.0, device="cuda")
    assert x.__dlpack_device__() == (2, 0)
    again = torch.from_dlpack(x)
    again[0] = 7
    assert again.is_cuda
    assert x.tolist() == [7.0, 1.0, 2.0, 3.0]


def test_an_array_of_cupy_is_taken_without_a_copy_where_a_gpu_is_asked_for() -> None:
    array = importlib.import_module("cupy").arange(3.0)
    shared, copied, here = (
        torch.as_tensor(array, device="cuda"),
        torch.tensor(array, device="cuda"),
        torch.tensor(array),
    )
    array[0] = 5
    assert shared.tolist() == [5.0, 1.0, 2.0]
    assert copied.tolist() == here.tolist() == [0.0, 1.0, 2.0]
    assert (shared.device.type, copied.device.type, here.device.type) == ("cuda", "cuda", "cpu")


def test_another_library_reads_a_tensor_by_its_interface() -> None:
    x = torch.arange(6.0, device="cuda").reshape(2, 3).t()
    array = importlib.import_module("cupy").asarray(x)
    array[0, 1] = 9
    assert x[0, 1].item() == 9.0


def test_who_has_no_interface_says_so() -> None:
    assert not hasattr(torch.ones(1), "__cuda_array_interface__")
    with pytest.raises(AttributeError, match=r"non-CUDA tensor type: torch.FloatTensor If CUDA data is required"):
        torch.ones(1).__cuda_array_interface__
    with pytest.raises(RuntimeError, match=r"on Variable that requires grad"):
        torch.ones(1, device="cuda", requires_grad=True).__cuda_array_interface__


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.bool])
def test_pinned_memory_has_the_same_elements(dtype: Any) -> None:
    x = torch.tensor([[1, 0], [2, 3]]).to(dtype)
    pinned = x.t().pin_memory()
    assert pinned.is_pinned() and not x.is_pinned()
    assert pinned[1:].is_pinned()
    assert pinned.pin_memory() is pinned
    assert torch.equal(pinned, x.t())
    assert torch.equal(pinned.to("cuda", non_blocking=True).cpu(), x.t())


def test_a_tensor_can_be_made_in_pinned_memory() -> None:
    assert torch.zeros(2, pin_memory=True).is_pinned()
    assert torch.tensor([1, 2], pin_memory=True).is_pinned()
    with pytest.raises(RuntimeError, match="only dense CPU tensors can be pinned"):
        torch.zeros(2, device="cuda").pin_memory()


@pytest.mark.parametrize("workers", [0, 1])
def test_a_loader_gives_batches_in_pinned_memory(workers: int) -> None:
    data = [(torch.full((2,), float(i)), {"name": str(i), "label": i}) for i in range(4)]
    for images, known in torch.utils.data.DataLoader(data, batch_size=2, pin_memory=True, num_workers=workers):
        assert images.is_pinned() and known["label"].is_pinned()
        assert [type(name) for name in known["name"]] == [str, str]


def test_pinning_keeps_containers() -> None:
    pinned = torch.utils.data._utils.pin_memory.pin_memory(Pair([torch.ones(1)], "a"))
    assert isinstance(pinned, Pair) and pinned.image[0].is_pinned() and pinned.label == "a"

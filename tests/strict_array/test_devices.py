"""Tensors on a GPU: how they come there, what they say of themselves, and what is said where devices differ."""

from __future__ import annotations

import copy
import importlib
import io
import os
import pickle
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autograph_cli import torch
from autograph_cli.torch._arrays import cuda
from tests.strict_array.arrays import marks

DIFFERENT = "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"
WAYS: dict[str, Callable[[Any], Any]] = {
    'x.to("cuda")': lambda x: x.to("cuda"),
    "x.to(torch.device(...))": lambda x: x.to(torch.device("cuda", 0)),
    "x.to(other)": lambda x: x.to(torch.ones(1, device="cuda", dtype=x.dtype)),
    "x.cuda()": lambda x: x.cuda(),
    "x.cuda(0)": lambda x: x.cuda(0),
    "torch.tensor": lambda x: torch.tensor(x.tolist(), device="cuda"),
    "torch.as_tensor": lambda x: torch.as_tensor(x, device="cuda"),
    "with torch.device": lambda x: _within(x),
    "x.new_tensor": lambda x: x.cuda().new_tensor(x.tolist()),
    "copy_": lambda x: torch.empty(2, 3, device="cuda").copy_(x),
    "deepcopy": lambda x: copy.deepcopy(x.detach().cuda()),
}
FACTORIES: dict[str, Callable[..., Any]] = {
    "zeros": lambda **place: torch.zeros(2, 3, **place),
    "ones": lambda **place: torch.ones(2, 3, **place),
    "full": lambda **place: torch.full((2, 3), 7.0, **place),
    "empty": lambda **place: torch.empty(2, 3, **place).zero_(),
    "arange": lambda **place: torch.arange(6, **place),
    "linspace": lambda **place: torch.linspace(0, 1, 5, **place),
    "eye": lambda **place: torch.eye(3, **place),
    "tril_indices": lambda **place: torch.tril_indices(3, 3, **place),
    "empty_strided": lambda **place: torch.empty_strided((2, 3), (1, 2), **place).zero_(),
}
SENTENCES: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "+": (lambda: torch.ones(3, device="cuda") + torch.ones(3), RuntimeError, DIFFERENT),
    "@": (lambda: torch.ones(3, device="cuda") @ torch.ones(3), RuntimeError, DIFFERENT),
    "numpy()": (
        lambda: torch.ones(3, device="cuda").numpy(),
        TypeError,
        "can't convert cuda:0 device type tensor to numpy",
    ),
    "out=": (
        lambda: torch.add(torch.ones(2, device="cuda"), 1, out=torch.ones(2)),
        RuntimeError,
        "Attempting to copy from device cuda:0 to device cpu",
    ),
    "a number that is not there": (
        lambda: torch.ones(1, device="cuda:7"),
        RuntimeError,
        "CUDA error: invalid device ordinal",
    ),
    "a matrix without an inverse": (
        lambda: torch.linalg.inv(torch.zeros(2, 2, device="cuda")),
        torch.linalg.LinAlgError,
        "linalg.inv: The diagonal element 1 is zero",
    ),
    "a matrix that is not positive-definite": (
        lambda: torch.linalg.cholesky(-torch.eye(2, device="cuda")),
        torch.linalg.LinAlgError,
        "linalg.cholesky: The factorization could not be completed because the input is not positive-definite",
    ),
    "an index that is not there": (
        lambda: torch.arange(3, device="cuda")[torch.tensor([0, 5])].tolist(),
        RuntimeError,
        "CUDA error: device-side assert triggered: an index is out of bounds for dimension 0 with size 3",
    ),
    "a row that is not there": (
        lambda: torch.index_select(torch.eye(3, device="cuda"), 0, torch.tensor([3], device="cuda")).sum().item(),
        RuntimeError,
        "device-side assert triggered: an index is out of bounds for dimension 0 with size 3",
    ),
    "a place that is not there": (
        lambda: torch.eye(3, device="cuda").gather(1, torch.tensor([[3]], device="cuda")).cpu(),
        RuntimeError,
        "device-side assert triggered: an index is out of bounds for dimension 1 with size 3",
    ),
    "a word that is not there": (
        lambda: bool(
            torch.nn.functional.embedding(torch.tensor([3], device="cuda"), torch.eye(3, device="cuda")).sum()
        ),
        RuntimeError,
        "device-side assert triggered: index out of range in self",
    ),
    "a class that is not there": (
        lambda: torch.nn.functional.cross_entropy(
            torch.eye(3, device="cuda"), torch.tensor([0, 1, 3], device="cuda")
        ).item(),
        RuntimeError,
        "device-side assert triggered: a target is out of bounds for 3 classes",
    ),
    "a gradient of another device": (
        lambda: (torch.ones(2, device="cuda", requires_grad=True) * 1).backward(torch.ones(2)),
        RuntimeError,
        "invalid gradient at index 0 - expected device cuda:0 but got cpu",
    ),
}


def _within(x: Any) -> Any:
    with torch.device("cuda"):
        return torch.tensor(x.tolist())


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("way", WAYS)
def test_a_tensor_comes_to_a_gpu_with_its_elements(way: str) -> None:
    x = torch.arange(6.0).reshape(2, 3)
    found = WAYS[way](x)
    assert found.device == torch.device("cuda", 0)
    assert found.is_cuda and not found.is_cpu and found.get_device() == 0
    assert torch.equal(found.cpu(), x)


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("name", FACTORIES)
def test_a_factory_makes_on_a_gpu_what_it_makes_on_the_cpu(name: str) -> None:
    here, there = FACTORIES[name](), FACTORIES[name](device="cuda")
    assert there.is_cuda
    assert there.stride() == here.stride() and there.dtype == here.dtype
    assert torch.equal(there.cpu(), here)


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("case", SENTENCES)
def test_what_cannot_be_is_said_in_one_sentence(case: str) -> None:
    run, kind, text = SENTENCES[case]
    with pytest.raises(kind, match=text.replace("(", r"\(").replace(")", r"\)")):
        run()


@pytest.mark.usefixtures("gpu")
def test_gradients_cross_between_devices() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (x.cuda() * 3).cpu().pow(2).sum().backward()
    assert x.grad.device == torch.device("cpu")
    assert x.grad.tolist() == [18.0, 36.0]


@pytest.mark.usefixtures("gpu")
def test_a_number_of_the_cpu_stands_beside_tensors_of_a_gpu_and_gets_its_gradient() -> None:
    s, x = torch.tensor(3.0, requires_grad=True), torch.tensor([1.0, 2.0], device="cuda")
    (x * s).sum().backward()
    assert s.grad.device == torch.device("cpu")
    assert s.grad.item() == 3.0


@pytest.mark.usefixtures("gpu")
def test_order_of_dimensions_is_kept_on_the_way() -> None:
    x = torch.arange(24.0).reshape(2, 3, 4).permute(2, 0, 1)
    assert x.cuda().stride() == x.stride()
    assert x.cuda().cpu().stride() == x.stride()


@pytest.mark.usefixtures("gpu")
def test_the_first_api_has_types_of_a_gpu() -> None:
    x = torch.cuda.FloatTensor([1, 2])
    assert isinstance(x, torch.cuda.FloatTensor) and not isinstance(x, torch.FloatTensor)
    assert x.type() == "torch.cuda.FloatTensor"
    assert x.type("torch.LongTensor").device == torch.device("cpu")
    assert torch.zeros(2).type(torch.cuda.HalfTensor).type() == "torch.cuda.HalfTensor"
    assert x.type(torch.int64).is_cuda


@pytest.mark.usefixtures("gpu")
def test_views_and_changes_in_place_share_memory() -> None:
    x = torch.zeros(2, 3, device="cuda")
    x.t()[1].add_(1)
    x.as_strided((2,), (3,), 2).mul_(0).sub_(2)
    assert x.tolist() == [[0.0, 1.0, -2.0], [0.0, 1.0, -2.0]]
    assert x[1:].storage_offset() == 3


@pytest.mark.usefixtures("gpu")
def test_a_tensor_prints_its_device() -> None:
    assert repr(torch.ones(2, device="cuda")) == "tensor([1., 1.], device='cuda:0')"


@pytest.mark.usefixtures("gpu")
def test_a_module_moves_and_trains() -> None:
    torch.manual_seed(0)
    model = torch.nn.Linear(3, 1)
    twin = copy.deepcopy(model).to("cuda")
    x = torch.randn(4, 3)
    for each, given in ((model, x), (twin, x.cuda())):
        optimizer = torch.optim.Adam(each.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            each(given).pow(2).mean().backward()
            optimizer.step()
    assert twin.weight.is_cuda
    torch.testing.assert_close(twin.weight.cpu(), model.weight)


@pytest.mark.usefixtures("gpu")
def test_batches_of_bfloat16_are_multiplied_as_on_the_cpu() -> None:
    torch.manual_seed(0)
    a, b = torch.randn(2, 3, 4, dtype=torch.bfloat16), torch.randn(2, 4, 5, dtype=torch.bfloat16)
    found = a.cuda() @ b.cuda()
    assert found.dtype is torch.bfloat16
    assert torch.equal(found.cpu(), a @ b)


@pytest.mark.usefixtures("gpu")
def test_torch_cuda_tells_of_the_gpu() -> None:
    assert torch.cuda.is_available()
    assert (torch.cuda.device_count(), torch.cuda.current_device()) == (1, 0)
    known = importlib.import_module("cupy").cuda.runtime.getDeviceProperties(0)
    assert torch.cuda.get_device_name() == known["name"].decode()
    assert torch.cuda.get_device_properties(0).multi_processor_count == known["multiProcessorCount"]
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    end.record()
    torch.cuda.synchronize()
    assert start.elapsed_time(end) >= 0
    with torch.cuda.stream(torch.cuda.Stream()), torch.cuda.device(0):
        assert torch.ones(1).cuda().item() == 1


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize(
    "where, device", [(None, "cuda:0"), ("cpu", "cpu"), ("cuda", "cuda:0"), ({"cuda:0": "cpu"}, "cpu")]
)
def test_a_checkpoint_tells_the_device_of_its_tensors_and_map_location_moves_them(where: Any, device: str) -> None:
    x, file = torch.arange(6.0, device="cuda").reshape(2, 3), io.BytesIO()
    torch.save({"all": x, "row": x[1]}, file)
    file.seek(0)
    found = torch.load(file, map_location=where)
    assert str(found["all"].device) == device
    assert found["row"].tolist() == [3.0, 4.0, 5.0]
    found["all"][1, 0] = 7
    assert found["row"][0].item() == 7


@pytest.mark.usefixtures("gpu")
def test_a_checkpoint_of_the_cpu_is_loaded_on_a_gpu() -> None:
    file = io.BytesIO()
    torch.save(torch.ones(2), file)
    file.seek(0)
    assert torch.load(file, map_location="cuda").is_cuda


@pytest.mark.usefixtures("gpu")
def test_pickle_and_transforms_stay_on_the_device() -> None:
    x = torch.arange(3.0, device="cuda")
    assert pickle.loads(pickle.dumps(x)).device == x.device
    assert torch.func.hessian(lambda a: a.sin().sum())(x).device == x.device
    assert torch.func.jvp(torch.sin, (x,), (x,))[1].device == x.device
    assert torch.vmap(lambda a: a * 2)(x).device == x.device
    assert x.type() == "torch.cuda.FloatTensor"


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("name", ["utilization", "memory_snapshot", "make_graphed_callables", "CUDAGraph"])
def test_what_there_is_not_yet_is_refused(name: str) -> None:
    torch.ones(1, device="cuda")
    with pytest.raises(NotImplementedError, match="is not available"):
        getattr(torch.cuda, name)()


@pytest.mark.usefixtures("gpu")
def test_the_accelerator_is_the_gpu() -> None:
    assert torch.accelerator.is_available()
    assert torch.accelerator.current_accelerator() == torch.device("cuda")
    assert (torch.accelerator.device_count(), torch.accelerator.current_device_index()) == (1, 0)
    assert torch.device(0) == torch.device("cuda", 0)
    assert torch.get_device_module() is torch.get_device_module("cuda:0") is torch.cuda
    assert torch.get_device_module("cpu") is torch.cpu
    x = torch.ones(2, device=torch.accelerator.current_accelerator())
    with torch.accelerator.device_index(0):
        torch.accelerator.synchronize()
    assert torch.accelerator.memory_allocated() >= x.untyped_storage().nbytes()


def test_without_cupy_the_error_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    cuda.closed()
    assert not torch.cuda.is_available()
    with pytest.raises(
        AssertionError, match=r"Torch not compiled with CUDA enabled.*pip install autograph-cli\[cuda12\]"
    ):
        torch.ones(1).cuda()


@pytest.mark.parametrize(
    "driver, said, sentence",
    [
        (0, "cudaErrorInsufficientDriver", r"Found no NVIDIA driver on your system.*nvidia-smi"),
        (
            11080,
            "cudaErrorInsufficientDriver",
            r"driver on your system is too old: it is one for CUDA 11\.8, .* CUDA 12\.4",
        ),
        (12040, "cudaErrorNoDevice", r"Found no GPU.*CUDA says: cudaErrorNoDevice"),
    ],
)
def test_without_a_gpu_the_error_says_what_is_missing(
    driver: int, said: str, sentence: str, gpu: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if os.environ.get("AUTOGRAPH_GPU"):
        pytest.skip("there is a GPU")
    runtime = importlib.import_module("cupy").cuda.runtime

    def refuse() -> int:
        raise runtime.CUDARuntimeError(said)

    cuda.closed()
    monkeypatch.setattr(runtime, "getDeviceCount", refuse)
    monkeypatch.setattr(runtime, "driverGetVersion", lambda: driver)
    assert not torch.cuda.is_available()
    with pytest.raises(RuntimeError, match=sentence):
        torch.ones(1, device="cuda")


def test_the_gradient_of_a_node_tells_its_device(gpu: None) -> None:
    y = torch.ones(2, device="cuda", requires_grad=True) * 2
    assert y.grad_fn._input_metadata[0].device == torch.device("cuda", 0)
    assert np.shape(y.tolist()) == (2,)


@pytest.mark.usefixtures("gpu")
def test_state_of_an_optimizer_goes_to_its_parameters() -> None:
    here, there = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2).cuda()
    before, after = torch.optim.Adam(here.parameters()), torch.optim.Adam(there.parameters())
    here(torch.ones(1, 2)).sum().backward()
    before.step()
    after.load_state_dict(before.state_dict())
    assert {name: x.device.type for name, x in after.state[there.weight].items()} == {
        "step": "cpu",
        "exp_avg": "cuda",
        "exp_avg_sq": "cuda",
    }
    there(torch.ones(1, 2, device="cuda")).sum().backward()
    after.step()


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize(
    "change",
    [
        lambda x: x.to("cuda", memory_format=torch.channels_last),
        lambda x: x.cuda().to(memory_format=torch.channels_last),
        lambda x: x.cuda().contiguous(memory_format=torch.channels_last).half(),
        lambda x: x.cuda().clone(memory_format=torch.channels_last),
    ],
    ids=["to device", "to", "contiguous", "clone"],
)
def test_channels_come_last_on_a_gpu(change: Callable[[Any], Any]) -> None:
    x = torch.arange(2.0 * 3 * 4 * 5).reshape(2, 3, 4, 5)
    moved = change(x)
    assert moved.is_contiguous(memory_format=torch.channels_last)
    assert moved.stride() == (60, 1, 15, 3)
    assert torch.equal(moved.cpu().float(), x)


@pytest.mark.usefixtures("gpu")
def test_a_checkpointed_part_runs_again_on_a_gpu() -> None:
    layer, x = torch.nn.Linear(2, 2).cuda(), torch.ones(1, 2, device="cuda", requires_grad=True)
    torch.utils.checkpoint.checkpoint(layer, x, use_reentrant=False).sum().backward()
    assert torch.equal(x.grad, layer.weight.sum(0, keepdim=True))


@pytest.mark.usefixtures("gpu")
def test_parts_are_marked_for_profilers() -> None:
    with torch.cuda.nvtx.range("step {}", 1):
        torch.cuda.nvtx.range_push("forward")
        torch.cuda.nvtx.range_pop()
    assert not marks


@pytest.mark.usefixtures("gpu")
def test_float32_is_multiplied_in_tf32_only_where_that_is_allowed() -> None:
    x = torch.full((2, 2), 1 + 2**-12, device="cuda")
    exact = (x.double() @ x.double()).float()
    try:
        torch.backends.cuda.matmul.allow_tf32 = True
        assert torch.get_float32_matmul_precision() == "high"
        assert not torch.equal(x @ x, exact)
        assert torch.allclose(x @ x, exact, rtol=1e-3)
    finally:
        torch.set_float32_matmul_precision("highest")
    assert not torch.backends.cuda.matmul.allow_tf32
    assert torch.equal(x @ x, exact)


ALONE: dict[str, Callable[[Any], Any]] = {
    "clone": lambda x: x.clone(),
    "relu": lambda x: x.relu(),
    "sum": lambda x: x.sum(),
    "amax": lambda x: x.amax(),
    "amin": lambda x: x.amin(0),
    "max": lambda x: x.max(0)[0],
    "cummax": lambda x: x.cummax(0)[0],
    "median": lambda x: x.median(0)[0],
    "sort": lambda x: x.sort()[0],
    "topk": lambda x: x.topk(1)[0],
    "logsumexp": lambda x: x.logsumexp(0),
    "logcumsumexp": lambda x: x.logcumsumexp(0),
    "flip": lambda x: x.flip(0),
    "roll": lambda x: x.roll(1),
    "pad": lambda x: torch.nn.functional.pad(x, ()),
}


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("name", ALONE)
def test_a_result_of_one_number_has_memory_of_its_own(name: str, device: str) -> None:
    x = torch.tensor(3.0, device=device)
    found = ALONE[name](x)
    assert found._ag_raw is not x._ag_raw
    x += 1
    assert found.item() == 3.0

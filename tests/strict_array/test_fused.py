"""What is computed in one kernel gives what its composed form gives, and CuPy can make kernels of it."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autograph_cli import torch
from autograph_cli.torch._arrays import cuda
from autograph_cli.torch._kernels import Kernels
from autograph_cli.torch._kernels.gpu.fused import FUNCTIONS, Fused

RAW = np.random.default_rng(0).standard_normal((4, 3, 5))
WEIGHT, BIAS = RAW[0, 0] + 2, RAW[1, 0]
MASK = [True, True, True]
NORM: Callable[..., Any] = lambda k, x, w, b: k.native_layer_norm(x, x.shape[2:], w, b, 1e-5)  # noqa: E731


def norm_backward(k: Any, x: Any, w: Any, b: Any) -> Any:
    out, mean, rstd = NORM(k, x, w, b)
    return k.native_layer_norm_backward(out * out, x, x.shape[2:], mean, rstd, w, b, MASK)


COMPOSED: dict[str, Callable[..., Any]] = {
    "softmax": lambda k, x, w, b: k.softmax(x, 2),
    "softmax of columns": lambda k, x, w, b: k.softmax(x, 1),
    "softmax_backward": lambda k, x, w, b: k.softmax_backward(x * x, k.softmax(x, -1), -1),
    "softmax_backward of columns": lambda k, x, w, b: k.softmax_backward(x * x, k.softmax(x, 0), 0),
    "log_softmax": lambda k, x, w, b: k.log_softmax(x * 30, 2),
    "log_softmax_backward": lambda k, x, w, b: k.log_softmax_backward(x * x, k.log_softmax(x, 1), 1),
    "native_layer_norm": NORM,
    "native_layer_norm without weight": lambda k, x, w, b: NORM(k, x, None, None),
    "native_layer_norm_backward": norm_backward,
    "native_layer_norm_backward without weight": lambda k, x, w, b: norm_backward(k, x, None, None),
    "threshold_backward": lambda k, x, w, b: k.threshold_backward(x * x, x, 0),
    "threshold_backward of a row": lambda k, x, w, b: k.threshold_backward(w, x, 0.5),
    "tanh_backward": lambda k, x, w, b: k.tanh_backward(x * x, x),
    "tanh_backward of a row": lambda k, x, w, b: k.tanh_backward(w, x),
    "sigmoid_backward": lambda k, x, w, b: k.sigmoid_backward(x * x, x),
    "gelu": lambda k, x, w, b: k.gelu(x),
    "gelu_backward": lambda k, x, w, b: k.gelu_backward(x * x, x),
    "gelu tanh": lambda k, x, w, b: k.gelu(x, "tanh"),
    "gelu_backward tanh": lambda k, x, w, b: k.gelu_backward(x * x, x, "tanh"),
}
OPTIMIZERS: dict[str, Callable[..., Any]] = {
    "Adam": lambda p: torch.optim.Adam(p, lr=0.1),
    "Adam with decay": lambda p: torch.optim.Adam(p, lr=0.1, weight_decay=0.1),
    "Adam with amsgrad": lambda p: torch.optim.Adam(p, lr=0.1, amsgrad=True, maximize=True),
    "AdamW": lambda p: torch.optim.AdamW(p, lr=0.1),
    "SGD": lambda p: torch.optim.SGD(p, lr=0.1, weight_decay=0.1),
    "SGD with momentum": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, dampening=0.5),
    "SGD with Nesterov": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.1, nesterov=True),
}


def numbers(found: Any) -> list[Any]:
    return [cuda.on_host(x) for x in (found if isinstance(found, tuple) else (found,))]


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("dtype, tolerance", [("float32", 2e-5), ("float64", 1e-12), ("float16", 2e-3)])
@pytest.mark.parametrize("name", COMPOSED)
def test_a_kernel_gives_what_its_composed_form_gives(name: str, dtype: str, tolerance: float) -> None:
    backend = cuda.opened()
    given = [backend.from_host(x.astype(dtype), 0) for x in (RAW, WEIGHT, BIAS)]
    fused, composed = (numbers(COMPOSED[name](k, *given)) for k in (backend.kernels, Kernels(backend.xp)))
    for one, other in zip(fused, composed, strict=True):
        assert (one.dtype, one.shape, one.strides) == (other.dtype, other.shape, other.strides)
        assert np.allclose(one, other, rtol=tolerance, atol=tolerance)


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("name", COMPOSED)
def test_a_kernel_keeps_the_order_in_memory_that_its_composed_form_keeps(name: str) -> None:
    backend = cuda.opened()
    x, weight, bias = (
        backend.from_host(x, 0) for x in (RAW.transpose(2, 1, 0).copy().transpose(2, 1, 0), WEIGHT, BIAS)
    )
    fused, composed = (numbers(COMPOSED[name](k, x, weight, bias)) for k in (backend.kernels, Kernels(backend.xp)))
    assert np.allclose(fused[0], composed[0])


def launches(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The fused functions that run from now on."""
    ran: list[str] = []
    kernels = cuda.opened().kernels
    for name, function in FUNCTIONS.items():
        monkeypatch.setitem(
            FUNCTIONS, name, lambda *args, _name=name, _function=function: (ran.append(_name), _function(*args))[1]
        )
    fused = Fused(cuda.opened().cupy)
    monkeypatch.setattr(kernels, "fused", fused)
    monkeypatch.setattr(kernels.rules, "_fused", fused)
    return ran


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("size", [3, 70_000])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_an_optimizer_takes_one_kernel_for_a_parameter(name: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(1).standard_normal((3, size)).astype("float32")
    ran, found = launches(monkeypatch), []
    for device in ("cpu", "cuda"):
        p = torch.tensor(values[0], device=device, requires_grad=True)
        updates = OPTIMIZERS[name]([p])
        for gradient in values[1:]:
            p.grad = torch.tensor(gradient, device=device)
            updates.step()
        found.append(p.detach().cpu())
    assert torch.allclose(*found, rtol=1e-5, atol=1e-6)
    kernel = name.split(" ")[0].removesuffix("W").lower()
    assert set(ran) == {kernel}
    assert len(ran) == 2 or os.environ.get("AUTOGRAPH_GPU")  # CuPy runs what it has compiled, which it follows once


@pytest.mark.usefixtures("gpu")
def test_cross_entropy_and_a_layer_of_a_transformer_take_the_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = launches(monkeypatch)
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, 0.0, "gelu").cuda()
    x = layer(torch.randn(3, 2, 8, device="cuda")).flatten(0, 1)
    torch.nn.functional.cross_entropy(x, torch.zeros(6, dtype=torch.int64, device="cuda")).backward()
    assert {"normalize", "normalize_backward", "gelu", "gelu_backward", "softmax", "log_softmax"} < {*ran}
    assert "log_softmax_backward" in ran


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_cupy_makes_a_kernel_of_it(name: str, dtype: str) -> None:
    """CuPy's own `fuse` follows the function, as far as it goes without a GPU: it writes the kernel's text."""
    cupy = pytest.importorskip("cupy")
    fusion = pytest.importorskip("cupy._core.fusion")
    memory = np.zeros(64)
    pointer = cupy.cuda.MemoryPointer(cupy.cuda.UnownedMemory(memory.ctypes.data, memory.nbytes, memory, 0), 0)
    numbers = {
        "rest1", "beta2", "rest2", "correction", "eps", "step_size", "lr", "momentum", "share", "count", "threshold",
    }  # fmt: skip
    here = fusion._fusion_thread_local.thread_local
    for optional in (False, True):
        given = [
            0.5 if p in numbers else None if optional and p in ("weight", "bias", "decay", "shrink", "largest", "buffer")
            else cupy.ndarray((2, 3), dtype, pointer)
            for p in list(inspect.signature(FUNCTIONS[name]).parameters)[1:]
        ]  # fmt: skip
        here.history, here.is_old_fusing = fusion._FusionHistory(), True
        try:
            kernel, options = here.history.get_fusion(lambda *args: FUNCTIONS[name](cupy, *args), given, name)
        finally:
            here.history, here.is_old_fusing = None, False
        assert set(options) <= {"axis", "out"}
        assert type(kernel).__name__ == ("ReductionKernel" if name.startswith("sum_") else "ElementwiseKernel")

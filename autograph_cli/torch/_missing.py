"""Messages for names that the engine lacks, and replacements of modules."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable
from importlib.machinery import PathFinder
from types import ModuleType
from typing import Any

_HOUSE = (__package__ or "").removesuffix("torch")

_KINDS = ("BFloat16", "Bool", "Byte", "Char", "Double", "Float", "Half", "Int", "Long", "Short")

INSTEAD = {
    "torch.btrifact": "torch.linalg.lu_factor",
    "torch.eig": "torch.linalg.eig",
    "torch.gels": "torch.linalg.lstsq",
    "torch.gesv": "torch.linalg.solve",
    "torch.ifft": "torch.fft.ifft",
    "torch.irfft": "torch.fft.irfft",
    "torch.lstsq": "torch.linalg.lstsq",
    "torch.matrix_rank": "torch.linalg.matrix_rank",
    "torch.potrf": "torch.linalg.cholesky",
    "torch.potri": "torch.cholesky_inverse",
    "torch.potrs": "torch.cholesky_solve",
    "torch.rfft": "torch.fft.rfft",
    "torch.set_anomaly_enabled": "torch.autograd.set_detect_anomaly",
    "torch.solve": "torch.linalg.solve",
    "torch.symeig": "torch.linalg.eigh",
    "torch.trtrs": "torch.linalg.solve_triangular",
    "torch.uniform": "torch.rand",
    **{f"torch.cuda.{kind}Tensor": f"torch.{kind}Tensor" for kind in _KINDS},
    "torch.Tensor.eig": "torch.linalg.eig",
    "torch.Tensor.fill_diagonal_": "x.diagonal().fill_(value)",
    "torch.Tensor.lstsq": "torch.linalg.lstsq",
    "torch.Tensor.resize": "torch.Tensor.resize_",
    "torch.Tensor.resize_as": "torch.Tensor.resize_as_",
    "torch.Tensor.solve": "torch.linalg.solve",
    "torch.Tensor.symeig": "torch.linalg.eigh",
    "torch.testing.assert_allclose": "torch.testing.assert_close",
}
"""Replacements of names that PyTorch removed, and of some that the engine has under another name."""

NOT_REBUILT = {
    "torch.ao": "quantization",
    "torch.distributed._tensor": "DTensor",
    "torch.distributed.checkpoint": "checkpoints in parts (torch.save on rank 0 keeps a model)",
    "torch.distributed.device_mesh": "DTensor",
    "torch.distributed.elastic": "elastic runs (autograph run --ranks starts several processes)",
    "torch.distributed.fsdp": "FSDP",
    "torch.distributed.init_device_mesh": "DTensor",
    "torch.distributed.pipelining": "pipelines",
    "torch.export": "torch.export",
    "torch.fx": "torch.fx",
    "torch.masked.MaskedTensor": "masked_tensor",
    "torch.masked.as_masked_tensor": "masked_tensor",
    "torch.masked.is_masked_tensor": "masked_tensor",
    "torch.masked.masked_tensor": "masked_tensor",
    "torch.masked.maskedtensor": "masked_tensor",
    "torch.nested": "torch.nested",
    "torch.nn.qat": "quantization",
    "torch.nn.quantizable": "quantization",
    "torch.nn.quantized": "quantization",
    "torch.quantization": "quantization",
    "torch.quantize_per_channel": "quantization",
    "torch.quantize_per_tensor": "quantization",
}
"""Names, and all below them, that stay PyTorch's own, and what they belong to: the engine is there to run and show
autograd."""

_ALIKE = 0.85
"""The least similarity of a suggested name: `LogNormal` is not `Normal`."""


def advice(name: str, known: Iterable[str]) -> str:
    """Return what to do where the full name is missing: another name to use, or one that may be meant, or an empty
    string.

    `known` are the names that are there beside it.

    >>> advice("torch.symeig", ())
    'use torch.linalg.eigh instead'
    >>> advice("torch.nn.Relu", ["ReLU", "SELU"])
    'did you mean torch.nn.ReLU?'
    """
    if name in INSTEAD:
        return f"use {INSTEAD[name]} instead"
    namespace, _, last = name.rpartition(".")
    if last.startswith("_"):
        return ""
    near = {other.lower(): other for other in known if _comparable(other, last)}
    # Imported when a name is missing: it would take a millisecond of each import of the engine.
    found = importlib.import_module("difflib").get_close_matches(last.lower(), near, 1, _ALIKE)
    return f"did you mean {namespace}.{near[found[0]]}?" if found else ""


def _comparable(other: str, name: str) -> bool:
    """Return whether one may be a slip for the other: `int32` is none for `int3`."""
    if other == name or abs(len(other) - len(name)) > 2 or other.startswith("_"):
        return False
    return [sign for sign in other if sign.isdigit()] == [sign for sign in name if sign.isdigit()]


def sentence(name: str, known: Iterable[str]) -> str:
    """The advice as the end of a message."""
    what = advice(name, known)
    return f"; {what}" if what else ""


def refusal(name: str, known: Iterable[str]) -> str:
    """Return what is said of a full name that is missing."""
    parts = name.split(".")
    for count in range(len(parts), 1, -1):
        what = NOT_REBUILT.get(".".join(parts[:count]))
        if what is not None:
            return f"{name} is not available in autograph's engine, which does not rebuild {what}: {_without_us()}"
    return f"{name} is not available in autograph's engine yet{sentence(name, known)}"


def _without_us() -> str:
    """Return what to do with a script that needs PyTorch itself."""
    if PathFinder.find_spec("torch") is None:
        return "the script needs PyTorch itself"
    return "the script needs PyTorch itself, which is installed here: `autograph run --engine torch` will run it"


def public(module: str) -> str:
    """The name under which a script knows a module of the engine."""
    return module.removeprefix(_HOUSE)


def error(module: str, name: str, known: Iterable[str]) -> AttributeError:
    """The error of a name that is not in a module of the engine."""
    return AttributeError(refusal(f"{public(module)}.{name}", known))


def lacking(module: ModuleType) -> Callable[[str], Any]:
    """A module's `__getattr__` that names what is missing as the script does."""

    def __getattr__(name: str) -> Any:
        raise error(module.__name__, name, vars(module))

    return __getattr__


def load(name: str) -> ModuleType:
    """The engine's module of this full name; it speaks of what it lacks, if it does not do so by itself."""
    module = importlib.import_module(name)
    speak_for(module)
    return module


def speak_for_parts(package: str) -> None:
    """Let a package and all its public modules name what they lack, as far as they are loaded."""
    for name, module in list(sys.modules.items()):
        if f"{name}.".startswith(f"{package}.") and "._" not in name:
            speak_for(module)


def speak_for(*modules: ModuleType) -> None:
    """Let these modules name what they lack."""
    for module in modules:
        vars(module).setdefault("__getattr__", lacking(module))

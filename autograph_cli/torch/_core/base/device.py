"""Devices: `torch.device("cpu")`, `torch.device("cuda:0")`."""

from __future__ import annotations

from typing import Any

from ..._above import above
from .class_names import Named, type_name
from .errors import refused
from .state import process_state

KNOWN = ("cpu", "cuda", "meta", "mps", "xpu")
NAMES = (
    "cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, xla, lazy, vulkan, mps, meta, hpu, "
    "mtia, privateuseone"
)
"""PyTorch's types of devices, in the order of its message."""


class device(metaclass=Named):
    """The place where a tensor's memory is.

    >>> device("cuda:1")
    device(type='cuda', index=1)
    """

    __slots__ = ("index", "type")
    type: str
    index: int | None

    def __init__(self, type: Any = (), index: int | None = None) -> None:
        if isinstance(type, device):
            type, index = type.type, type.index
        if isinstance(type, int) and index is None:
            if not above("_arrays.cuda", "is_available")():
                raise RuntimeError("Cannot access accelerator device when none is available.")
            type, index = "cuda", int(type)
        if not isinstance(type, str):
            raise refused(
                TypeError,
                "device() received an invalid combination of arguments - got "
                f"({type_name(type) if type != () else ''}), but expected one of:\n"
                " * (torch.device device)\n * (str type, int index = -1)\n",
            )
        self.type, self.index = _parsed(type, index)

    def __repr__(self) -> str:
        return f"device(type='{self.type}'" + (")" if self.index is None else f", index={self.index})")

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __reduce__(self) -> Any:
        return device, (self.type, self.index)

    def __enter__(self) -> device:
        check(self)
        global _entered
        _entered = (*_entered, process_state.default_device)
        process_state.default_device = self
        return self

    def __exit__(self, *_: Any) -> None:
        global _entered
        process_state.default_device, _entered = _entered[-1], _entered[:-1]


def _parsed(text: str, index: int | None) -> tuple[str, int | None]:
    """The type and the index of a device; RuntimeError for what is none."""
    name, colon, number = text.partition(":")
    if not text:
        raise RuntimeError("Device string must not be empty")
    if name not in KNOWN:
        raise RuntimeError(f"Expected one of {NAMES} device type at start of device string: {name}")
    if colon and not (number.isdigit() and str(int(number)) == number):
        raise RuntimeError(f"Invalid device string: '{text}'")
    if number and index is not None:
        raise RuntimeError(f"type (string) must not include an index because index was passed explicitly: {text}")
    if index is not None and index < 0:
        raise RuntimeError("Device index must not be negative")
    return name, int(number) if number else index


_entered: tuple[Any, ...] = ()
CPU = device("cpu")
META = device("meta")


def check(where: Any) -> device:
    """The device, if the engine has it; an error that names it otherwise. A GPU comes with its number."""
    result: device = where if where is CPU or isinstance(where, device) else device(where)
    if result is CPU:
        return result
    if result.type in ("cpu", "meta"):
        return CPU if result.type == "cpu" else META
    if result.type == "cuda":
        gpu: device = above("_arrays.cuda", "place")(result)
        return gpu
    raise RuntimeError(f"device {str(result)!r} is not available in autograph's engine")

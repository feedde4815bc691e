"""`torch.onnx`: a model as an ONNX file, written from what it computes of example arguments."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

__all__ = ["ONNXProgram", "OnnxExporterError", "dynamo_export", "export", "is_in_onnx_export"]

_exporting = [False]


class OnnxExporterError(RuntimeError):
    """A model cannot be written as ONNX."""


class ONNXProgram:
    """A model of ONNX: `model_proto` is what the package onnx knows it as, and `save` writes it to a file."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    @property
    def model_proto(self) -> Any:
        """The model as the package onnx knows it."""
        return importlib.import_module("onnx").load_from_string(self._data)

    def save(self, destination: Any) -> None:
        """Write the file, or into an open one."""
        if hasattr(destination, "write"):
            destination.write(self._data)
            return
        with importlib.import_module("autograph_cli.atomic_files").atomic_write(destination) as file:
            file.write(self._data)


def export(
    model: Any,
    args: Any = (),
    f: Any = None,
    *,
    kwargs: dict[str, Any] | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    opset_version: int | None = None,
    **options: Any,
) -> ONNXProgram:
    """Return what a model computes of these arguments as ONNX (opset 18), its parameters in it; written to `f` if
    given.

    OnnxExporterError for what ONNX has no operators for, for what is drawn at random, and for options that ask for
    another model: sizes are those of the arguments.
    """
    _exporting[0] = True
    try:
        write = importlib.import_module("autograph_cli.onnx_export").write
        names = (tuple(input_names or ()), tuple(output_names or ()))
        program = ONNXProgram(write(model, args, kwargs or {}, names, opset_version, options, OnnxExporterError))
    finally:
        _exporting[0] = False
    if f is not None:
        program.save(f)
    return program


dynamo_export = export


def is_in_onnx_export() -> bool:
    """Return whether a model runs to be exported."""
    return _exporting[0]


def is_onnxrt_backend_supported() -> bool:
    """False."""
    return False

"""`torch.onnx`: models are not exported here."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["dynamo_export", "export", "is_in_onnx_export", "is_onnxrt_backend_supported"]


def _not_there(*args: Any, **options: Any) -> NoReturn:
    """RuntimeError: there is no exporter."""
    raise RuntimeError(
        "torch.onnx.export is not available in autograph's engine: export the model with PyTorch, "
        "or write the graph of a script with `autograph render -f onnx`"
    )


export = dynamo_export = _not_there


def is_in_onnx_export() -> bool:
    """False."""
    return False


def is_onnxrt_backend_supported() -> bool:
    """False."""
    return False

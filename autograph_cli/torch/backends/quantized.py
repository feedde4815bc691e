"""`torch.backends.quantized`: there are no quantized dtypes."""

from __future__ import annotations

engine = "none"
supported_engines: list[str] = ["none"]

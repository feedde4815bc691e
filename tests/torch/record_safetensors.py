"""Writes package.safetensors with the safetensors package and PyTorch: `python tests/torch/record_safetensors.py`."""

from pathlib import Path
from typing import Any

EXPECTED = Path(__file__).with_name("package.safetensors")
NAMES = tuple(
    """
    bool uint8 int8 int16 uint16 float16 bfloat16 int32 uint32 float32 complex64 float64 int64 uint64
    """.split()
)
METADATA = {"format": "pt"}


def tensors(torch: Any) -> dict[str, Any]:
    """A tensor of each dtype, and some of other shapes and names."""
    found = {name: torch.tensor([0, 1, 7, 250 if name != "int8" else 125]).to(getattr(torch, name)) for name in NAMES}
    return {
        **found,
        "a number": torch.tensor(1.5),
        "nothing": torch.zeros(0, 3),
        "layer.weight": torch.arange(6.0).reshape(2, 3),
        'quoted "ü"\n': torch.ones(1, 1, 2, dtype=torch.bfloat16),
        "A": torch.zeros(1),
    }


if __name__ == "__main__":
    import safetensors.torch
    import torch

    safetensors.torch.save_file(tensors(torch), EXPECTED, METADATA)

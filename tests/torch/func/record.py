"""Writes what real PyTorch gives for the cases: `python -m tests.torch.func.record`."""

import json
from pathlib import Path

from tests.torch.func.cases import CASES
from tests.torch.func.inside import everything

EXPECTED = Path(__file__).with_name("expectations.json")
INSIDE = Path(__file__).with_name("inside.json")


def plain(x):
    """Results as lists: of a tensor its dtype, shape and numbers."""
    if x is None or isinstance(x, (bool, int, float, str)):
        return x
    if isinstance(x, dict):
        return {key: plain(value) for key, value in x.items()}
    if isinstance(x, (tuple, list)):
        return [plain(value) for value in x]
    numbers = x.detach().reshape(-1).tolist()
    parts = [[n.real, n.imag] for n in numbers] if x.dtype.is_complex else [float(f"{n:.12g}") for n in numbers]
    return {"dtype": str(x.dtype).removeprefix("torch."), "shape": list(x.shape), "numbers": parts}


if __name__ == "__main__":
    import torch

    EXPECTED.write_text(json.dumps({name: plain(case(torch)) for name, case in CASES.items()}) + "\n")
    INSIDE.write_text(json.dumps(everything(torch), indent=1) + "\n")

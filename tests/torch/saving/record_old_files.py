"""Writes with real PyTorch before_zip.pt and plain.pickle, which test_old_files.py reads: `python tests/torch/saving/record_old_files.py`."""

import pickle
from pathlib import Path

FILE = Path(__file__).with_name("before_zip.pt")
PLAIN = Path(__file__).with_name("plain.pickle")


def contents(torch):
    """Return what both files hold."""
    x = torch.arange(6.0).view(2, 3)
    half = torch.ones(2, dtype=torch.bfloat16)
    return {
        "x": x,
        "turned": x.t(),
        "half": half,
        "leaf": torch.ones(1, requires_grad=True),
        "n": torch.tensor([1, -2]),
    }


def main():
    import torch

    torch.save(contents(torch), FILE, _use_new_zipfile_serialization=False)
    layer = torch.nn.Linear(2, 1)
    with torch.no_grad():
        layer.weight.fill_(2.0)
    PLAIN.write_bytes(pickle.dumps({**contents(torch), "layer": layer}))


if __name__ == "__main__":
    main()

"""Writes lacking.json: which public names of PyTorch the engine lacks: `python tests/torch/record_lacking.py`, beside real PyTorch."""

import importlib
import types
from pathlib import Path

from tests.torch.recording import written

EXPECTED = Path(__file__).with_name("lacking.json")
PARTS = tuple(
    """
    torch torch.Tensor torch.nn torch.nn.functional torch.nn.init torch.nn.utils torch.linalg torch.fft torch.special
    torch.signal.windows torch.autograd torch.utils.data torch.optim torch.optim.lr_scheduler torch.testing torch.random
    torch.func torch.amp
    """.split()
)


def find(torch, path):
    """Return what a full name stands for."""
    found = torch
    for part in path.split(".")[1:]:
        try:
            found = getattr(found, part)
        except AttributeError:
            found = importlib.import_module(f"{found.__name__}.{part}")
    return found


def public(owner):
    """The names that PyTorch means to be used: no modules of others, nothing that is there for annotations."""
    for name in dir(owner):
        value = getattr(owner, name, None)
        home = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None) or "torch"
        if (
            not name.startswith("_")
            and home.partition(".")[0] == "torch"
            and name not in ("torch", "Tensor", "TYPE_CHECKING")
        ):
            yield name


def record():
    import warnings

    import torch

    from autograph_cli import torch as ours

    warnings.simplefilter("ignore")
    found = {}
    for path in PARTS:
        there, here = find(torch, path), find(ours, path)
        found[path] = [name for name in public(there) if not hasattr(here, name)]
    return {path: names for path, names in found.items() if names}


if __name__ == "__main__":
    written(EXPECTED, record())

"""Writes names_of_classes.json: what PyTorch calls the members of classes that users subclass or put attributes on.

    python tests/torch/record_names_of_classes.py

beside real PyTorch. A class has what it adds to the first class of its part.
"""

import importlib
from pathlib import Path

from tests.torch.recording import written

EXPECTED = Path(__file__).with_name("names_of_classes.json")
PARTS = {
    "torch": ("Tensor", "nn.Parameter", "nn.Buffer"),
    "torch.autograd": ("Function",),
    "torch.nn": ("Module", *"*"),
    "torch.optim": ("Optimizer",),
    "torch.optim.lr_scheduler": ("LRScheduler", *"*"),
    "torch.utils._python_dispatch": ("TorchDispatchMode",),
    "torch.overrides": ("TorchFunctionMode",),
    "torch.utils.data": ("Dataset", "IterableDataset", "Sampler", "TensorDataset", "Subset"),
    "torch.distributions": ("Distribution", "ExponentialFamily"),
}
"""The classes of each module; after `*` all others of its that derive from the first."""


def classes(module, names):
    """Names of classes and the classes themselves."""
    for name in names:
        if name != "*":
            found = module
            for part in name.split("."):
                found = getattr(found, part)
            yield name, found
            continue
        root = getattr(module, names[0])
        every = [(n, c) for n, c in sorted(vars(module).items()) if isinstance(c, type) and issubclass(c, root)]
        yield from ((n, c) for n, c in every if not n.startswith("_") and c is not root)


def members(cls):
    """The names that a class and its bases define, without those that Python defines."""
    found = {n for c in cls.__mro__ if "torch" in c.__module__ for n in vars(c)}
    return {n for n in found if not (n.startswith("__") and n.endswith("__"))}


if __name__ == "__main__":
    recorded = {}
    for path, names in PARTS.items():
        known: set[str] = set()
        for name, cls in classes(importlib.import_module(path), names):
            recorded[f"{path}.{name}"] = sorted(members(cls) - known)
            known = known or members(cls)
    written(EXPECTED, recorded)

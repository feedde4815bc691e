"""Writes what real PyTorch gives for the cases: `python -m tests.torch.vmap.record`."""

import warnings
from pathlib import Path

from tests.torch.recording import written
from tests.torch.vmap.cases import cases
from tests.torch.vmap.programs import PROGRAMS

EXPECTED = Path(__file__).with_name("expectations.json")


def plain(x):
    """Results as lists: of a tensor its dtype, shape and numbers."""
    if isinstance(x, dict):
        return {key: plain(value) for key, value in x.items()}
    if isinstance(x, (tuple, list)):
        return [plain(value) for value in x]
    if x is None or isinstance(x, (bool, int, float, str)):
        return x
    numbers = [float(f"{n:.9g}") for n in x.detach().double().reshape(-1).tolist()]
    return {"dtype": str(x.dtype).removeprefix("torch."), "shape": list(x.shape), "numbers": numbers}


def scope(torch, printed):
    wide = {"dtype": torch.float64}
    return {
        "torch": torch,
        "vmap": torch.vmap,
        "f": torch.func,
        "F": torch.nn.functional,
        "grad": torch.autograd.grad,
        "x": torch.tensor([[0.7, 1.9, -0.4, 0.2], [1.3, -0.6, 2.2, 0.9], [-1.1, 0.8, 0.5, 1.6]], **wide),
        "y": torch.tensor([1.1, 0.5, -1.7, 0.3], **wide),
        "m": torch.tensor([[[0.3, 1.2], [0.8, -0.4]], [[1.5, 0.6], [2.1, 0.9]], [[-1.1, 0.2], [0.7, 1.4]]], **wide),
        "shown": lambda v: printed.append(repr(v)) or v,
    }


def observe(torch, code):
    """Return what a piece of code gives: its result, or the error's type and first sentence."""
    torch.manual_seed(0)
    printed = []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = {"result": plain(eval(code, scope(torch, printed)))}
    except Exception as error:
        found = {"error": type(error).__name__, "says": str(error).partition(". ")[0]}
    return found | {"printed": printed} if printed else found


if __name__ == "__main__":
    import torch

    found = {code: observe(torch, code) for code in cases()}
    found |= {name: plain(program(torch)) for name, program in PROGRAMS.items()}
    written(EXPECTED, found)

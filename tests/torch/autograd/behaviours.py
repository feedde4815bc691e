"""What PyTorch does, case by case: `python -m tests.torch.autograd.behaviours` records it with real PyTorch.

Each case takes a `torch` and returns what it saw: tensors (values, flags, node), logs of hooks, errors (first sentence).
"""

import importlib
import json
import re
import warnings
from pathlib import Path

EXPECTED = Path(__file__).with_name("behaviours.json")
CASES = {}


def case(f):
    CASES[f.__name__] = f
    return f


def show(x, torch):
    """`x` as text that is the same for both engines."""
    if isinstance(x, torch.Tensor):
        flat = x.detach().reshape(-1).tolist()
        values = [f"{v:.3g}" if isinstance(v, float) else str(v) for v in flat]
        node = None if x.grad_fn is None else x.grad_fn.name()
        return f"Tensor {list(x.shape)} {x.dtype} {values} requires_grad={x.requires_grad} leaf={x.is_leaf} {node}"
    if isinstance(x, (list, tuple)):
        return "[" + ", ".join(show(y, torch) for y in x) + "]"
    if isinstance(x, dict):
        return "{" + ", ".join(f"{k}: {show(v, torch)}" for k, v in x.items()) + "}"
    return re.sub(r" at 0x[0-9a-f]+", "", f"{x:.3g}" if isinstance(x, float) else repr(x))


def graph(tensor):
    """The nodes behind a tensor, by depth first, with their edges."""
    rows, numbers = [], {}

    def visit(node):
        if node is None or node in numbers:
            return numbers.get(node)
        number = numbers[node] = len(numbers)
        rows.append(None)
        rows[number] = (node.name(), [(visit(target), nr) for target, nr in node.next_functions])
        return number

    visit(tensor.grad_fn)
    return rows


def err(f):
    """Return what `f` returns, or the first sentence of what it raises."""
    try:
        return f()
    except Exception as error:
        return type(error).__name__ + ": " + re.split(r"(?<=[.!?])\s", str(error))[0].strip()


def observe(name, torch):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = show(CASES[name](torch), torch)
        except Exception as error:
            found = f"raised {type(error).__name__}: " + re.split(r"(?<=[.!?])\s", str(error))[0].strip()
    return found.replace("autograph_cli.", "")


def leaf(torch, *values):
    return torch.tensor(list(values) or [1.0, 2.0, 3.0], requires_grad=True)


def made(torch, forward, backward, **more):
    members = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    members |= {name: staticmethod(f) for name, f in more.items()}
    return type("F", (torch.autograd.Function,), members)


def checkpointing(torch):
    return importlib.import_module(f"{torch.__name__}.utils.checkpoint")


def load() -> None:
    """Fill `CASES` from the files of cases."""
    for name in ("hooks", "functions", "engine", "forward", "tape", "mixed"):
        importlib.import_module(f"tests.torch.autograd.cases_{name}")


if __name__ == "__main__":
    import torch

    from tests.torch.autograd import behaviours

    behaviours.load()
    found = {name: behaviours.observe(name, torch) for name in behaviours.CASES}
    EXPECTED.write_text(json.dumps(found, indent=1) + "\n")

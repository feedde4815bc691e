"""Scripts that the makers of libraries published: the Python in the READMEs of packages, and their notebooks.

Each becomes a file that seeds the generators, runs as published (with models made smaller), and then prints what it left
behind: the sums of all tensors, and the gradients of the first order, and of small models of the second.
"""

from __future__ import annotations

import importlib.metadata
import json
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

BLOCK = re.compile(r"^[ \t]*```[ \t]*(?:python|py)\b[^\n]*\n(.*?)^[ \t]*```", re.DOTALL | re.MULTILINE)
HEAD = """import random as _random
import numpy as _numpy
import torch as _torch
_random.seed(0), _numpy.random.seed(0), _torch.manual_seed(0)
"""
TAIL = '''

def _told(value):
    """The sum of a tensor and of its absolute values, to as many digits as sums in another order keep."""
    value = value.detach().to_dense() if value.layout is not _torch.strided else value.detach()
    value = value.abs() if value.is_complex() else value
    return f"{tuple(value.shape)} {value.dtype} {float(value.double().sum()):.6g} {float(value.double().abs().sum()):.6g}"


def _leaves(*roots):
    """The leaves that a graph leads to, in the order of a walk."""
    stack, met, found = [root.grad_fn for root in roots], set(), []
    while stack:
        node = stack.pop()
        if node is None or node in met:
            continue
        met.add(node)
        if hasattr(node, "variable"):
            found.append(node.variable)
        stack.extend(next for next, _ in node.next_functions)
    return found


for _name, _value in list(globals().items()):
    if _name.startswith("_") or not isinstance(_value, _torch.Tensor) or _value.numel() > 10_000_000:
        continue
    print(_name, _told(_value))
    if _value.grad_fn is None or not _value.is_floating_point():
        continue
    try:
        _some = [leaf for leaf in _leaves(_value) if leaf.is_floating_point()]
        _first = _torch.autograd.grad(_value.square().mean(), _some, create_graph=True, allow_unused=True)
        print("  order 1:", len(_some), *(_told(each) for each in _first[:2] + _first[-2:] if each is not None))
        _norm = sum(each.square().sum() for each in _first if each is not None)
        if _norm.requires_grad and sum(each.numel() for each in _some) < 3_000_000:
            _second = _torch.autograd.grad(_norm, _some, allow_unused=True)
            print("  order 2:", *(_told(each) for each in _second[:2] + _second[-2:] if each is not None))
    except (RuntimeError, NotImplementedError) as _error:
        print("  ", type(_error).__name__, str(_error).partition("\\n")[0][:60])
'''


def smaller(text: str) -> str:
    """A script with fewer layers, narrower ones and shorter sequences: READMEs show models at full size."""
    text = re.sub(r"(depth *= *)(?:[3-9]|1\d|24)\b", r"\g<1>2", text)
    return re.sub(
        r"\b(20000|2048|1024)\b", lambda found: {"20000": "256", "2048": "256", "1024": "128"}[found[0]], text
    )


def scripts(packages: Path, sources: Path | None) -> Iterator[tuple[str, str, str]]:
    """The library, the name and the text of each script that imports PyTorch."""
    for package in sorted(importlib.metadata.distributions(path=[str(packages)]), key=lambda each: each.name.lower()):
        text = package.metadata.get_payload() or package.metadata["Description"] or ""
        for number, block in enumerate(BLOCK.findall(text), 1):
            yield from _named(package.name.lower(), f"readme_{number:02d}", smaller(textwrap.dedent(block)))
    for notebook in sorted(sources.rglob("*.ipynb")) if sources else ():
        cells = json.loads(notebook.read_text("utf-8"))["cells"]
        code = "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
        code = re.sub(r"tqdm[._]notebook", "tqdm", re.sub(r"^(\s*)[%!].*$", r"\1pass", code, flags=re.MULTILINE))
        library = notebook.relative_to(sources).parts[0].rpartition("-")[0]
        yield from _named(library, notebook.stem, code)


def comparable(text: str) -> str:
    """Return what a script printed, without addresses and times, with sums as parts of the sums of absolute values: a
    sum of numbers that cancel is rounding alone."""
    text = re.sub(r"0x[0-9a-f]+|\b[\d.]+ ?(?:ns|us|ms|s)\b|[\d.]+(?:it/s|s/it)|\d\d:\d\d", "_", text)
    return re.sub(r"(torch\.\w+) (-?[\d.e+-]+) ([\d.e+-]+)", _share, text)


def _share(found: re.Match[str]) -> str:
    total, size = float(found[2]), float(found[3])
    return f"{found[1]} {size:.4g} {total / size:.2f}" if size > 1e-6 else f"{found[1]} 0 0"


def _named(library: str, name: str, text: str) -> Iterator[tuple[str, str, str]]:
    if re.search(r"^\s*(import|from) ", text, re.MULTILINE) and "torch" in text:
        yield library, re.sub(r"\W+", "_", name), HEAD + text + TAIL

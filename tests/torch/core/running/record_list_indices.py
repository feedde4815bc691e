"""Indices that are lists, read and written: `python -m tests.torch.core.running.record_list_indices` records what PyTorch makes of them."""

import json
import random
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np

EXPECTED = Path(__file__).with_name("list_indices.json")

CHOSEN = """
'ab' | ['a'] | b'' | [b'a'] | 1.0 | {0} | [{0}] | np.True_ | np.int64(1) | np.array([0, 1]) | np.array([True, False, True]) | np.array([1, 0, 1], np.uint8)
[np.True_] | [np.int64(1), np.int64(2)] | range(2) | [range(2)] | [] | [[]] | [[[]]] | [0] * 40 | [[0, 1]] * 40 | [0, None] * 20 | [slice(None)] * 31
[slice(None)] * 32 | [slice(None)] + [0] * 31 | [t] * 31 | [1.5] | [[0.5]] | [t, 1.5] | [[slice(0, 1)]] | [[t, s]] | [[t[0], s[1]]] | [1, True] | [True]
([[0, 1], [1]],) | ([0, 1], [1, 2]) | (t, [0, 1]) | ([t],) | ([t[0], 1],) | ([[True, False, True]],) | [[[0], [1]], [[1]]] | np.array([0.5]) | [np.array([0.5])]
np.array(1) | [np.array(1)] | np.array(True) | [np.array(True)] | [u] | u | (u, 0) | [[1, 0, 1], u] | [m] | [m, 0] | [(0, 1), t] | {0: 1} | [{0: 1}]
"""
ITEMS = """
0 | 2 | -1 | slice(0, 2) | slice(None) | slice(None, None, 2) | None | Ellipsis | True | False | [0, 1] | [1, 2] | [0] | [[0, 1], [2, 0]] | (1, 0) | t | s | t.int() | t[0]
m | u | [True, False, True] | range(2) | np.array([0, 2]) | np.array([[1], [0]]) | np.int64(1) | [t[0], 2] | [s[1], np.int64(0)] | [2, 1] | [-1, 0]
"""


def _parts(text: str) -> list[str]:
    return [part.strip() for line in text.strip().splitlines() for part in line.split(" | ")]


def indices() -> list[str]:
    """Chosen indices, and lists of one to four items put together by chance."""
    items, chance = _parts(ITEMS), random.Random(12)
    drawn = [f"[{', '.join(chance.choices(items, k=chance.choice((1, 2, 2, 2, 3, 3, 4))))}]" for _ in range(420)]
    return list(dict.fromkeys([*_parts(CHOSEN), *(f"[{item}]" for item in items), *drawn]))


def names(torch: Any) -> dict[str, Any]:
    """Return what the indices name."""
    return {
        "np": np,
        "t": torch.tensor([0, 1]),
        "s": torch.tensor([1, 2]),
        "m": torch.tensor([True, False, True]),
        "u": torch.tensor([1, 0, 1], dtype=torch.uint8),
    }


def _read(torch: Any, index: Any) -> Any:
    x = torch.arange(27.0).view(3, 3, 3).requires_grad_()
    y = x[index]
    (y * torch.arange(1.0, y.numel() + 1).view(y.shape)).sum().backward()
    positions = torch.arange(1.0, 28.0).view(3, 3, 3)
    nodes = type(y.grad_fn).__name__, [type(n).__name__ for n, _ in y.grad_fn.next_functions]
    return tuple(y.shape), y.stride(), y.flatten().tolist()[:8], float((x.grad * positions).sum()), nodes


def _written(torch: Any, index: Any, value: Any) -> Any:
    x = torch.zeros(3, 3, 3, requires_grad=True)
    y = x * 1
    y[index] = value
    (y * torch.arange(1.0, 28.0).view(3, 3, 3)).sum().backward()
    positions = torch.arange(1.0, 28.0).view(3, 3, 3)
    return (
        float((y.detach() * positions).sum()),
        float((x.grad * positions).sum()),
        type(y.grad_fn).__name__,
        y._version,
    )


def _answer(torch: Any, run: Any, *args: Any) -> str:
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        try:
            found = str(run(torch, *args))
        except Exception as error:
            return f"{type(error).__name__}: " + re.split(r"(?<=[.!?])\s", str(error).split("\n")[0])[0]
    return f"{found} {sorted({str(w.message).split(' ')[0] for w in given})}"


def answers(index: str, torch: Any) -> list[str]:
    """Return what reading at an index gives, and writing a number and a tensor there."""
    known = names(torch)
    made = eval(index, known)
    return [
        _answer(torch, _read, made),
        _answer(torch, _written, made, 2.0),
        _answer(torch, _written, made, torch.tensor([3.0])),
        _answer(torch, _written, made, torch.arange(3.0, requires_grad=True)),
    ]


if __name__ == "__main__":
    import torch

    EXPECTED.write_text(json.dumps({i: answers(i, torch) for i in indices()}, indent=0) + "\n")

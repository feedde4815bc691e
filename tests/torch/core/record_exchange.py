"""Tensors beside NumPy's arrays, DLPack, copies and pickles: `python -m tests.torch.core.record_exchange` records what PyTorch gives."""

import copy
import json
import pickle
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np

EXPECTED = Path(__file__).with_name("exchange.json")

EXPRESSIONS = """
a + t | type(a + t).__name__ | a * t | t + a | np.float64(2.0) * t | np.float32(2) * t | (t * np.float64(2)).dtype | np.sin(t) | np.add(t, t)
np.asarray(t) | np.array(t, dtype=np.float64) | np.asarray(t, dtype=np.int32) | np.shares_memory(np.asarray(t), t.numpy())
np.shares_memory(np.array(t), t.numpy()) | np.asarray(g) | g.numpy() | g.numpy(force=True) | np.sin(g) | np.ones(2) + g | g + np.ones(2)
np.float64(2) * g | g * np.float64(3) | torch.from_numpy(a).fill_(5), a | torch.as_tensor(a).fill_(1), a | torch.tensor(a).fill_(2), a
torch.as_tensor(a, dtype=torch.float32).fill_(3), a | torch.as_tensor(x) is x | torch.as_tensor(x, dtype=torch.float32) is x
torch.as_tensor(x, dtype=torch.float64) | torch.tensor(g) | torch.tensor(g, requires_grad=True) | torch.as_tensor(g) is g | torch.asarray(x) is x
torch.asarray(a, copy=True).fill_(1), a | torch.asarray(a).fill_(9), a | torch.asarray(a, dtype=torch.float32, copy=False) | torch.asarray(g) is g
torch.asarray([1, 2], copy=False) | torch.asarray(g * 2).requires_grad | torch.asarray(x, requires_grad=True) | torch.asarray([1, 2]) | torch.asarray(3.5)
torch.from_numpy(np.arange(3.0)[::-1]) | torch.from_numpy(np.array([None])) | torch.tensor(np.array(["a"])) | torch.tensor([np.ones(2), np.zeros(2)])
torch.from_numpy([1]) | torch.from_numpy(np.array(3.5)) | torch.from_numpy(np.array([True])) | torch.from_numpy(np.ones(2, np.float16))
torch.from_numpy(np.ones(1, np.complex64)) | torch.from_numpy(np.ones(1, np.uint16)) | torch.from_numpy(np.ones(1, ">f8"))
torch.from_dlpack(a).fill_(4), a | np.from_dlpack(x) | x.__dlpack_device__()[1] | g.__dlpack__() | torch.from_dlpack(x).fill_(3), x
np.from_dlpack(torch.tensor([True])) | torch.Tensor.__array_priority__ | torch.ones(1, dtype=torch.bfloat16).numpy() | [float(v) for v in x]
a.__iadd__(np.asarray(torch.ones(3, dtype=torch.float64))) | torch.tensor(3.0).numpy() | base.t().numpy().strides
again(x) | again(g), again(g).grad, again(g).is_leaf | again(p), type(again(p)).__name__, again(p).grad | again(g * 2) | again(base.t()).stride()
copy.deepcopy(g), copy.deepcopy(g).grad, copy.deepcopy(g).foo | copy.deepcopy(p), copy.deepcopy(p).grad | copy.deepcopy(g * 2)
copy.copy(g), copy.copy(g) is g, copy.copy(g).grad, copy.copy(g).data_ptr() == g.data_ptr() | copy.deepcopy(base.t()).stride()
[q.fill_(9) for q in copy.deepcopy([base[0], base])[:1]], base | shared(copy.deepcopy) | shared(again) | copy.deepcopy(base)._version, copy.deepcopy(p)._version
[type(torch.tensor(v).item()).__name__ for v in (1, 1.0, True, 1j)] | torch.utils.swap_tensors(x, g), x, g | swapped_leaf()
"""


def world(torch: Any) -> dict[str, Any]:
    """Return what the expressions name, made anew."""
    g = torch.ones(2, requires_grad=True)
    g.grad, g.foo = torch.zeros(2), 3
    p = torch.nn.Parameter(torch.ones(2))
    p.grad = torch.ones(2)
    base = torch.arange(6.0).reshape(2, 3)

    def again(x: Any) -> Any:
        return pickle.loads(pickle.dumps(x))

    def shared(way: Any) -> Any:
        whole, part = way([base, base[0]])
        part.fill_(9)
        return whole, base

    def swapped_leaf() -> None:
        y = (p * 2).sum()
        torch.utils.swap_tensors(p, torch.nn.Parameter(torch.zeros(2)))
        y.backward()

    return {
        "torch": torch,
        "np": np,
        "copy": copy,
        "t": torch.arange(3.0),
        "a": np.arange(3.0),
        "g": g,
        "p": p,
        "x": torch.ones(2),
        "base": base,
        "again": again,
        "shared": shared,
        "swapped_leaf": swapped_leaf,
    }


def show(x: Any) -> str:
    """A result as text that is the same for every engine."""
    if isinstance(x, (tuple, list)):
        return f"({', '.join(map(show, x))})"
    if isinstance(x, (np.ndarray, np.generic)):
        return f"{type(x).__name__} {x.dtype} {x.tolist()}"
    return repr(x)


def answer(expression: str, torch: Any) -> str:
    """Return what an expression gives, or the first sentence of its error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = show(eval(expression, world(torch)))
        except Exception as error:
            found = f"{type(error).__name__}: " + re.split(r"(?<=[.!?])\s", str(error).split("\n")[0])[0]
    return found.replace("autograph_cli.", "")


def expressions() -> list[str]:
    """All expressions."""
    return [part.strip() for line in EXPRESSIONS.strip().splitlines() for part in line.split(" | ")]


if __name__ == "__main__":
    import torch

    EXPECTED.write_text(json.dumps({e: answer(e, torch) for e in expressions()}, indent=1) + "\n")

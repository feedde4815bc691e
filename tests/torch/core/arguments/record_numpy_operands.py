"""Tensors beside NumPy's arrays and numbers: `python -m tests.torch.core.arguments.record_numpy_operands` records what PyTorch gives."""

import json
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np

EXPECTED = Path(__file__).with_name("numpy_operands.json")

OPERATORS = ["+", "-", "*", "/", "//", "%", "**", "@", "&", "|", "^", "<<", ">>", "==", "!=", "<", "<=", ">", ">="]
TENSORS = {
    "f": "torch.arange(1.0, 4.0)",
    "i": "torch.arange(1, 4)",
    "b": "torch.tensor([True, False, True])",
    "g": "torch.arange(1.0, 4.0, requires_grad=True)",
    "s": "torch.tensor(2.0)",
    "m": "torch.ones(3, 3)",
}
NUMPY = {
    "F": "np.arange(1.0, 4.0)", "F4": "np.arange(1, 4, dtype=np.float32)", "I": "np.arange(1, 4)",
    "B": "np.array([True, True, False])", "f8": "np.float64(2)", "f4": "np.float32(2)", "i8": "np.int64(2)",
    "i4": "np.int32(2)", "b1": "np.bool_(True)", "c": "np.complex64(1j)", "u1": "np.uint8(2)", "z": "np.array(2.0)",
    "w": "np.ones(2)", "M": "np.ones((3, 3))",
}  # fmt: skip
CALLS = """
t.sum(np.int64(0)) | t ** np.float32(2) | torch.zeros(np.int64(3))
torch.zeros((np.int64(2), np.int32(3))) | torch.ones(np.int64(2), np.int64(1)) | t.view(np.int64(6))
t.view(np.int64(3), -1) | t.reshape((np.int64(3), np.int64(2))) | t.transpose(np.int64(0), np.int64(1))
torch.full((2,), np.float32(2)) | torch.full((2,), np.int64(2)) | torch.arange(np.int64(3))
torch.arange(np.float32(3)) | torch.arange(np.float64(0), np.float64(1), np.float64(0.5))
torch.linspace(np.float64(0), np.float32(1), np.int64(3)) | t.clamp(np.float32(1), np.float64(2))
t.clamp(min=np.int64(1)) | torch.add(t, np.float32(1)) | torch.add(t, t, alpha=np.float32(2))
torch.pow(t, np.int64(2)) | torch.pow(np.float32(2), t) | torch.mul(t, np.float64(2))
torch.where(t > 1, np.float32(0), t) | torch.where(t > 1, t, np.float64(0)) | t.fill_(np.float32(3))
t.masked_fill(t > 1, np.float32(3)) | t.softmax(np.int64(1)) | t.mean(np.int64(0)) | t.argmax(np.int64(0))
t.unsqueeze(np.int64(0)).shape | t.expand(np.int64(2), np.int64(3)) | t.repeat(np.int64(2), 1)
t.chunk(np.int64(2)) | torch.eye(np.int64(2)) | torch.randint(0, np.int64(1), (np.int64(2),)) | t.topk(np.int64(1))
torch.cat([t, t], np.int64(1)) | torch.stack([t, t], dim=np.int64(0)).shape | t[np.int64(0)]
t[np.int64(0), np.int64(1)] | t[:np.int64(1)] | t.select(np.int64(0), np.int64(1))
t.narrow(np.int64(0), np.int64(0), np.int64(1)) | t.norm(np.float64(2)) | t.item() if t.numel() == np.int64(1) else 0
t.eq(np.float32(1)) | t.div(np.float32(2), rounding_mode="floor") | torch.tensor(np.float32(1.5))
torch.tensor(np.int32(1)) | torch.tensor(np.bool_(True)) | torch.tensor([np.float32(1), np.float64(2)])
torch.nn.functional.dropout(t, np.float64(0.0)) | torch.nn.functional.leaky_relu(t, np.float32(0.1))
torch.nn.functional.pad(t, (np.int64(1), np.int64(1))) | torch.nn.Linear(np.int64(2), np.int64(3)).weight.shape
torch.nn.Dropout(np.float32(0.5)) | torch.nn.functional.one_hot(torch.tensor([0]), np.int64(2))
t.requires_grad_(np.bool_(True)) | torch.manual_seed(np.int64(3)) and 0 | torch.Tensor(np.int64(2)).shape
torch.Tensor(np.ones(2)) | torch.FloatTensor(np.ones(2, np.float32)) | torch.LongTensor(np.arange(3))
t.new_zeros(np.int64(2)) | t.new_tensor(np.ones(2)) | t.roll(np.int64(1)) | t.cumsum(np.int64(0))
t.flatten(np.int64(0)) | t.squeeze(np.int64(0)) | t.permute(np.int64(1), np.int64(0))
t.gather(np.int64(0), torch.tensor([[0]])) | torch.isclose(t, t, rtol=np.float64(0.1))
t.index_fill(0, torch.tensor([0]), np.float32(2)) | t.logsumexp(np.int64(0)) | t.var(np.int64(0))
t.max(np.int64(0)).values | t.kthvalue(np.int64(1)).values | t.type(torch.float64) | t.to(torch.float32)
t.size(np.int64(0)) | t.stride(np.int64(0)) | np.concatenate([t, t]) | np.stack([t, t]) | np.exp(t) | np.sqrt(t)
np.abs(t) | np.add(t, np.ones(3)) | np.multiply(np.ones(3), t) | np.dot(t, t.T.numpy()) | np.matmul(t, np.ones(3))
np.where(t > 1, 1, 0) | np.argmax(t) | np.allclose(t, t) | np.array_equal(t, t) | np.isnan(t) | np.greater(t, 1)
np.equal(t, t) | np.logical_not(t) | np.asarray(t > 1) | np.array([t[0, 0], t[0, 1]]) | np.clip(t, 1, 2) | np.round(t)
np.transpose(t) | np.reshape(t, (3, 2)) | np.ravel(t) | np.shape(t) | np.ndim(t) | np.zeros_like(t) | np.cumsum(t, 0)
np.unique(t) | np.sort(t) | np.exp(g) | np.array(g) | np.asarray(g.detach()) | np.float64(t[0, 0]) | float(t[0, 0])
np.int64(t[0, 1]) | list(np.array(t[0])) | isinstance(np.ones(2) * torch.ones(2), torch.Tensor)
t.__array__(np.float64) | t.__array__(dtype=np.int32) | t.__array_wrap__(np.ones(2))
t.__array_wrap__(np.array([True])) | np.add.reduce(t) | np.add.outer(t[0], t[0]) | np.linalg.norm(t)
np.sin(t, out=np.zeros((2, 3))) | np.ones(3)[t[0].long()] | np.arange(5)[torch.tensor(2)]
np.ones((2, 3))[torch.tensor([0]), 1] | [10, 20, 30][torch.tensor(1)] | np.arange(torch.tensor(3))
np.zeros(torch.tensor(2)) | np.ones((torch.tensor(1), 2)) | range(torch.tensor(2)) | np.full(2, torch.tensor(1.5))
np.isscalar(t[0,0])
"""


def world(torch: Any) -> dict[str, Any]:
    """Return what the calls name, made anew."""
    t = torch.arange(6.0).reshape(2, 3)
    return {"torch": torch, "np": np, "t": t, "g": torch.ones(2, requires_grad=True)}


def show(x: Any) -> str:
    """A result as text that is the same for every engine."""
    if isinstance(x, (tuple, list)):
        return f"({', '.join(map(show, x))})"
    if isinstance(x, (np.ndarray, np.generic)):
        return f"{type(x).__name__} {x.dtype} {x.tolist()}"
    if type(x).__name__ == "Tensor":
        elements = [f"{v:.6g}" if isinstance(v, float) else v for v in x.flatten().tolist()]
        return f"{x.dtype} {tuple(x.shape)} {elements} {x.grad_fn and x.grad_fn.name()}"
    return f"{type(x).__name__} {x}"


def answer(code: str, names: dict[str, Any]) -> str:
    """Return what an expression gives, or a statement makes of `t`; or the first sentence of the error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if re.search(r" \S+= ", code) and not re.search(r" [=!<>]= ", code):
                exec(code, names)
                return show(names[code.split()[0]])
            return show(eval(code, names))
        except Exception as error:
            text = re.split(r"(?<=[.!?])\s", str(error).split("\n")[0])[0]
            # Which of two things wrong with it an in-place change of bits speaks of first is not followed.
            return "refused" if re.search(r" [&|^<>]+= ", code) else f"{type(error).__name__}: {text}"


def beside(torch: Any, tensor: str, number: str) -> list[str]:
    """All operators with one kind of tensor and one kind of NumPy's things, on either side and in place."""
    found = []
    for symbol in OPERATORS:
        codes = [f"t {symbol} n", f"n {symbol} t"]
        if symbol not in ("==", "!=", "<", "<=", ">", ">="):
            codes += [f"t {symbol}= n", f"n {symbol}= t"]
        for code in codes:
            names: dict[str, Any] = {"torch": torch, "np": np}
            names |= {"t": eval(TENSORS[tensor], names), "n": eval(NUMPY[number], names)}
            found.append(answer(code, names))
    return found


def pairs() -> list[str]:
    """Every kind of tensor beside every kind of NumPy's things."""
    return [f"{t} {n}" for t in TENSORS for n in NUMPY]


def calls() -> list[str]:
    """Calls with NumPy's numbers, and NumPy's functions of tensors."""
    return [part.strip() for line in CALLS.strip().splitlines() for part in line.split(" | ")]


if __name__ == "__main__":
    import torch

    known = {pair: beside(torch, *pair.split()) for pair in pairs()}
    known["calls"] = {code: answer(code, world(torch)) for code in calls()}
    EXPECTED.write_text(json.dumps(known, indent=0) + "\n")

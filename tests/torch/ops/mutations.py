"""Calls that are almost right: each valid call of `valid_calls.txt` with one argument taken away, added, or put in
another's position."""

import ast
import re
import signal
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

VALID = Path(__file__).with_name("valid_calls.txt")
EXPECTED = Path(__file__).with_name("mutations.json")
ADDRESS = re.compile(r"at 0x[0-9a-f]+")
DTYPES = ("int64", "bool", "complex64", "float16", "float64", "uint8")
OTHERS = {
    bool: ("None", "1", "'a'", "[True]", "1.5"),
    int: ("None", "'a'", "1.5", "-1", "0", "7", "-7", "10**20", "True", "[1]", "T()", "T(2)", "torch.int64"),
    float: ("None", "'a'", "-1.0", "0", "7", "1e300", "float('nan')", "1j", "[1.0]", "T()", "T(2)"),
    complex: ("None", "'a'", "2.0", "[1j]"),
    str: ("'foo'", "None", "1", "['a']", "T()"),
    None: ("'a'", "1", "-7", "1.5", "T(2, 3)", "torch.int64", "[0]"),
}
"""What stands instead of an argument, by its type."""
DTYPE = ("torch.int64", "torch.complex64", "torch.float16", "torch.bool", "None", "'float32'", "float", "3")
LIST = (
    "None", "'a'", "3", "-1", "[]", "['a']", "[1.5]", "[None]", "T(2)", "(0, 0)", "(-1, -1)", "(7,)",
    "(1, 2, 3, 4, 5, 6)",
)  # fmt: skip


def valid_calls() -> list[str]:
    """The calls that PyTorch takes, as text."""
    return VALID.read_text(encoding="utf-8").splitlines()


def mutated(text: str) -> Iterator[str]:
    """The calls that differ from a valid one in one argument."""
    call = ast.parse(text, mode="eval").body
    assert isinstance(call, ast.Call)
    args = [ast.unparse(a) for a in call.args]
    named = {k.arg: ast.unparse(k.value) for k in call.keywords}
    run = ast.unparse(call.func)

    def written(args: list[str], named: dict[Any, str]) -> str:
        return f"{run}({', '.join([*args, *(f'{k}={v}' for k, v in named.items())])})"

    for i, given in enumerate(call.args):
        yield written([*args[:i], *args[i + 1 :]], named)
        for other in others(given):
            yield written([*args[:i], other, *args[i + 1 :]], named)
    for keyword in call.keywords:
        yield written(args, {k: v for k, v in named.items() if k != keyword.arg})
        for other in others(keyword.value):
            yield written(args, {**named, keyword.arg: other})
    yield written([*args, "1"], named)
    yield written([*args, "None"], named)
    yield written(args, {**named, "foo": "1"})
    yield written(args, {**named, "out": "'a'"})
    yield written(args, {**named, "dim": "-7"}) if "dim" not in named else written([], {})


def others(given: ast.expr) -> Iterator[str]:
    """Yield what is tried instead of an argument."""
    text = ast.unparse(given)
    if isinstance(given, ast.Call) and ast.unparse(given.func) in ("T", "torch.tensor"):
        yield from (
            "None",
            "'a'",
            "1",
            "2.5",
            "True",
            "[1.0]",
            "T()",
            "T(0)",
            "T(5)",
            "T(5, 7)",
            "T(1, 2, 3, 2)",
            f"[{text}]",
        )
        yield from (f"{text}.to(torch.{dtype})" for dtype in DTYPES)
        yield from (f"{text}.unsqueeze(0)", f"{text}.numpy()")
        return
    if isinstance(given, (ast.List, ast.Tuple)):
        yield from LIST
        return
    if text.startswith("torch."):
        yield from DTYPE
        return
    try:
        value = ast.literal_eval(given)
    except ValueError:
        return
    yield from OTHERS[None if value is None else type(value)]


def scope(torch: Any) -> dict[str, Any]:
    """The names that calls use; `T(2, 3)` is a tensor of that shape."""
    import numpy as np

    def T(*shape: int, dtype: str = "float32") -> Any:
        count = int(np.prod(shape))
        numbers = (np.arange(count) * 7 % 11 + 1).reshape(shape)
        whole = dtype.startswith(("int", "uint"))
        kind = getattr(torch, dtype)
        return torch.tensor((numbers % 3 if whole else numbers / 12).tolist()).to(kind).reshape(shape)

    return {"torch": torch, "F": torch.nn.functional, "nn": torch.nn, "np": np, "T": T}


class TooLong(BaseException):
    """A call takes more than two seconds."""


def stop(*_: Any) -> None:
    raise TooLong


def observe(torch: Any, call: str, names: dict[str, Any]) -> str:
    """Return what comes of a call: the error's type and its first line, or the dtypes and shapes of the result."""
    torch.manual_seed(0)
    signal.signal(signal.SIGALRM, stop)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            signal.alarm(2)
            try:
                found = eval(call, dict(names))
            finally:
                signal.alarm(0)
            return f"taken: {_shown(torch, found)}"
    except TooLong:
        return "too long"
    except MemoryError as error:
        return f"MemoryError: {error}"
    except Exception as error:
        text = str(error).partition("\n")[0].strip().replace("autograph_cli.torch", "torch")
        return f"{type(error).__name__.removeprefix('_')}: {ADDRESS.sub('at 0x', text)}"
    finally:
        torch.set_grad_enabled(True)
        torch.set_default_dtype(torch.float32)


def _shown(torch: Any, found: Any) -> str:
    if isinstance(found, torch.Tensor):
        return f"{str(found.dtype).removeprefix('torch.')}{list(found.shape)}"
    if isinstance(found, (tuple, list)):
        return f"({', '.join(_shown(torch, x) for x in found[:4])})"
    return type(found).__name__

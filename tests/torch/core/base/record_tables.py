"""The dtype of every pair of dtypes and of every number beside a tensor: `python -m tests.torch.core.base.record_tables` records it."""

import itertools
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.torch.recording import written

EXPECTED = Path(__file__).with_name("tables.json")
USUAL = """
    bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128
""".split()
ALL = [*USUAL, "uint16", "uint32", "uint64"]
NUMBERS = (True, 3, 2.5, 1j)
PAIRS = {
    "result": lambda torch, x, y: torch.result_type(x, y),
    "add": lambda torch, x, y: (x + y).dtype,
    "mul": lambda torch, x, y: (x * y).dtype,
    "div": lambda torch, x, y: (x / y).dtype,
    "sub": lambda torch, x, y: (x - y).dtype,
    "where": lambda torch, x, y: torch.where(torch.tensor([True]), x, y).dtype,
    "stack": lambda torch, x, y: torch.stack([x, y]).dtype,
    "atan2": lambda torch, x, y: torch.atan2(x, y).dtype,
    "add_": lambda torch, x, y: x.clone().add_(y).dtype,
    "div_": lambda torch, x, y: x.clone().div_(y).dtype,
    "copy_": lambda torch, x, y: x.clone().copy_(y).dtype,
}
BESIDE = {
    "result": lambda torch, x, s: torch.result_type(x, s),
    "add": lambda torch, x, s: (x + s).dtype,
    "radd": lambda torch, x, s: (s + x).dtype,
    "mul": lambda torch, x, s: (x * s).dtype,
    "div": lambda torch, x, s: (x / s).dtype,
    "sub": lambda torch, x, s: (x - s).dtype,
    "where": lambda torch, x, s: torch.where(torch.tensor([True]), x, s).dtype,
    "pow": lambda torch, x, s: (x**s).dtype,
    "mul_": lambda torch, x, s: x.clone().mul_(s).dtype,
}
ALONE = """
    sin sqrt neg sum prod mean cumsum round argmax exp any all count_nonzero logical_not angle cumprod square
""".split()


def _half(pair: set[str]) -> bool:
    """Return whether ComplexHalf may come of two dtypes, which the engine does not have."""
    return "float16" in pair and not pair.isdisjoint({"complex64", "complex128"})


def told(ask: Any, *args: Any) -> str:
    """A dtype's name, or the kind of error."""
    try:
        found = ask(*args)
    except Exception as error:
        return type(error).__name__
    return str(found).rpartition(".")[2]


def tables(torch: Any) -> Iterator[tuple[str, str]]:
    """Questions, and what an engine answers; dtypes in the order of ALL or USUAL, 0-d and 1-d tensors in all combinations."""
    kinds = {name: getattr(torch, name) for name in ALL}
    tensors = {(name, n): torch.ones((2,) * n, dtype=kind) for name, kind in kinds.items() for n in (0, 1)}
    for a in ALL:
        yield f"promote {a}", " ".join(told(torch.promote_types, kinds[a], kinds[b]) for b in ALL)
        yield f"can_cast {a}", " ".join(told(torch.can_cast, kinds[a], kinds[b]) for b in ALL)
    for (name, ask), a, n in itertools.product(PAIRS.items(), USUAL, (0, 1)):
        yield (
            f"{name} {a} {n}",
            " ".join(
                told(ask, torch, tensors[a, n], tensors[b, m])
                for b in USUAL
                for m in (0, 1)
                if (name != "stack" or n == m) and not _half({a, b})
            ),
        )
    for (name, ask), a, n in itertools.product(BESIDE.items(), USUAL, (0, 1)):
        if a != "float16":  # A complex number beside float16 makes ComplexHalf, which the engine does not have.
            yield f"{name} {a} {n} number", " ".join(told(ask, torch, tensors[a, n], s) for s in NUMBERS)
    for name, a, n in itertools.product(ALONE, USUAL, (0, 1)):
        arguments = (tensors[a, n], 0) if name.startswith("cum") else (tensors[a, n],)
        yield f"{name} {a} {n}", told(lambda name=name, arguments=arguments: getattr(torch, name)(*arguments).dtype)
    for a, field in itertools.product(ALL, ("bits", "eps", "max", "min", "tiny", "smallest_normal", "resolution")):
        yield (
            f"info {a} {field}",
            told(
                lambda a=a, field=field: repr(
                    getattr(
                        (torch.finfo if kinds[a].is_floating_point or kinds[a].is_complex else torch.iinfo)(kinds[a]),
                        field,
                    )
                )
            ),
        )


def observe(torch: Any) -> dict[str, str]:
    """All answers of an engine."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return dict(tables(torch))


if __name__ == "__main__":
    import torch

    written(EXPECTED, observe(torch))

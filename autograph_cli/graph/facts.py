"""Facts on a node beside its name and edges: each as lines of text."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Callable, Collection, Sequence
from functools import lru_cache

from autograph_cli.graph.errors import GraphError
from autograph_cli.graph.names import visible
from autograph_cli.graph.records import Graph, Node, Saved, TensorType, Values

BARS = " ▁▂▃▄▅▆▇█"
LONGEST, MOST_LINES = 56, 12
"""Characters of a line, and lines of a fact; what is longer goes on below, or ends in `…`."""
MOST_ROWS = 6
"""Rows of a small matrix that stand below each other; more follow on a line."""
FEW = 6
"""The most numbers that stand at an arrow."""
USUAL = ("shapes", "names", "arguments")
"""The facts that are shown by default."""
_REAL = re.compile(r"-?(\d[\d.]*(e[-+]?\d+)?|inf)|nan", re.ASCII)
_DIGITS = re.compile(r"(?<!\d)(\d{1,4})$", re.ASCII)


def values_of(node: Node) -> list[str]:
    """The numbers of its outputs."""
    return _numbers(node.measured.values) if node.measured else []


def gradients_of(node: Node) -> list[str]:
    """The numbers that its backward was given."""
    lines = _numbers(node.measured.gradients) if node.measured else []
    return [f"grad {line}" if not number else line for number, line in enumerate(lines)]


def _dtype(node: Node) -> list[str]:
    found = dict.fromkeys(
        output.type.dtype + ("" if output.type.device == "cpu" else f" on {output.type.device}")
        for output in node.outputs
    )
    return [", ".join(found)]


def _source(node: Node) -> list[str]:
    if node.source is None:
        return []
    position, text = f"{node.source.file}:{node.source.line}", node.source.text.strip()
    if len(position) + len(text) + 2 <= LONGEST:
        return [f"{position}  {text}".rstrip()]
    return [position, *_wrapped(text)]


def _time(node: Node) -> list[str]:
    if node.measured is None:
        return []
    both = (("", node.measured.time), ("backward ", node.measured.backward_time))
    told = [f"{word}{nanoseconds_text(time)}" for word, time in both if time is not None]
    return [", ".join(told)] if told else []


def _flops(node: Node) -> list[str]:
    measured = node.measured
    if measured is None:
        return []
    both = (("", measured.flops), ("backward ", sum(run.flops for run in measured.runs)))
    told = [f"{word}{flops_text(flops)}" for word, flops in both if flops]
    return [", ".join(told)] if told else []


def _check(node: Node) -> list[str]:
    measured = node.measured
    if measured is None or measured.error is None:
        return []
    return _wrapped(f"WRONG: {measured.wrong}") if measured.wrong else [f"derivative right to {measured.error:.0e}"]


def _bytes(node: Node) -> list[str]:
    made = sum(bytes_of(output.type) for output in node.outputs)
    kept = sum(size for size in stored(node.saved).values())
    return [bytes_text(made) + (f", keeps {bytes_text(kept)}" if kept else "")]


def _formula(node: Node) -> list[str]:
    return [part for line in node.measured.formula for part in _wrapped(line)] if node.measured else []


def _saved(node: Node) -> list[str]:
    told = []
    for saved in node.saved:
        if saved.type is not None:
            version = f", version {saved.version}" if saved.version else ""
            told.append(f"keeps {plain_name(saved)}: {saved.type}, {bytes_text(saved.bytes)}{version}")
    return told


FACTS: dict[str, Callable[[Node], list[str]]] = {
    "dtype": _dtype, "values": values_of, "gradients": gradients_of, "line": _source, "time": _time, "flops": _flops,
    "bytes": _bytes, "formula": _formula, "saved": _saved, "check": _check,
}  # fmt: skip
"""The function for each fact of a node, by the word that asks for it, in the order in which facts are shown."""
WORDS = (*USUAL, *FACTS, "links")
"""All that can be asked for."""
RECORDED: dict[str, str] = {
    "values": "values", "gradients": "values", "time": "time", "flops": "flops", "formula": "formula",
    "inside": "inside", "check": "check",
}  # fmt: skip
"""The measurement that each fact needs when a script is run."""


def facts_of(node: Node, shown: Collection[str]) -> list[str]:
    """The lines of all that is asked for, in the order of `FACTS`; a fact of too many lines ends in `…`.

    >>> from autograph_cli.graph.records import Output
    >>> leaf = Node(0, "leaf", "AccumulateGrad", "", (Output(TensorType("float32", (3,)), ("x",)),))
    >>> facts_of(leaf, ("dtype", "bytes"))
    ['float32', '12 B']
    """
    lines: list[str] = []
    for word, tell in FACTS.items():
        if word in shown:
            told = [visible(line) for line in tell(node)]
            lines += told if len(told) <= MOST_LINES else [*told[: MOST_LINES - 1], "…"]
    return lines


def parse_shown(text: str) -> tuple[str, ...]:
    """The facts that a list names: added to the usual ones, or, after `none`, to nothing.

    Raises `GraphError` for a word that is none of `WORDS`.

    >>> parse_shown("values"), parse_shown("none,line")
    (('shapes', 'names', 'arguments', 'values'), ('line',))
    """
    words = [word.strip() for word in text.split(",") if word.strip()]
    for word in words:
        if word not in (*WORDS, "none"):
            raise GraphError(f"There is no {word!r} to show; known ones: {', '.join(WORDS)}, and none.")
    start = () if "none" in words else USUAL
    return tuple(word for word in WORDS if word in start or word in words)


def check_recorded(graph: Graph, shown: Collection[str], script: str = "FILE.py") -> None:
    """Raise `GraphError` if something that must be recorded on request is to be shown and was not."""
    told: dict[str, Callable[[Node], object]] = {
        "values": values_of,
        "time": _time,
        "flops": lambda node: node.measured and node.measured.flops is not None,
        "formula": _formula,
        "check": _check,
    }
    for word in shown:
        tell = told.get(RECORDED.get(word, ""))  # gradients come with values, as far as a backward has run
        if tell is not None and len(graph) and not any(map(tell, graph)):
            raise GraphError(not_recorded(word, script))


def not_recorded(word: str, script: str = "FILE.py") -> str:
    """Say that something was not recorded, and how to get it; the script may come as the title of a picture."""
    what = {"time": "times", "formula": "formulas", "check": "checked derivatives"}.get(word, word)
    return (
        f"The trace holds no {what}, for these are recorded on request only: "
        f"autograph run --record {RECORDED[word]} {script.partition(' · ')[0]}"
    )


# Numbers


def values_lines(values: Values) -> list[str]:
    """The lines that tell the numbers of one tensor; of a large one, the last is a row of bars."""
    if values.whole:
        whole = list(values.whole)
        fits = len(whole) <= MOST_ROWS and max(map(len, whole)) < LONGEST - 6
        return whole if fits else _wrapped(" ".join(line.strip() for line in whole), "")
    if not values.count:
        return ["empty"]
    head = f"min {values.low} · mean {values.mean} · max {values.high}" if values.low else ""
    zeros = f"{100 * values.zeros / values.count:.3g} % zeros" if values.zeros else ""
    nans = f"{values.nans:,} NaN" if values.nans else ""
    rest = " · ".join(part for part in (zeros, nans) if part)
    return [line for line in (head, rest, bars(values.bins)) if line]


def values_line(values: Values) -> str:
    """The numbers of one tensor on a line: all where they are few, else from where to where, how many NaN, and bars.

    >>> values_line(Values(("[[1, 2],", " [3, 4]]"), count=4))
    '[[1, 2], [3, 4]]'
    """
    if values.whole and values.count <= FEW:
        return " ".join(line.strip() for line in values.whole)
    low, high, bins, nans = values.low, values.high, values.bins, values.nans
    if values.whole:
        words = [word for line in values.whole for word in re.split(r"[\[\],\s]+", line) if word]
        if not all(map(_REAL.fullmatch, words)):
            return ""  # no range: complex numbers and truth values have none
        numbers = sorted(float(word) for word in words if word != "nan")
        nans = len(words) - len(numbers)
        low, high = (f"{numbers[0]:.4g}", f"{numbers[-1]:.4g}") if numbers else ("", "")
        bins = _binned([number for number in numbers if math.isfinite(number)])
    if nans and not low:
        return "all NaN"
    range_ = (low if low == high else f"{low} … {high}") + (f" · {nans:,} NaN" if nans else "")
    narrow = [sum(bins[start : start + 2]) for start in range(0, len(bins), 2)]
    return f"{range_} {bars(narrow).replace(' ', BARS[1])}" if any(narrow) else range_


def _binned(numbers: list[float]) -> tuple[int, ...]:
    """Return how many of these are in each of 16 equal parts from the first to the last; none if there is no room
    between."""
    low, high = (numbers[0], numbers[-1]) if numbers else (0.0, 0.0)
    counts = [0] * 16
    for number in numbers if high > low else ():
        counts[min(int((number - low) / (high - low) * 16), 15)] += 1
    return tuple(counts) if any(counts) else ()


def bars(bins: Collection[int]) -> str:
    """A row of bars, one for each number, the highest as high as a line.

    >>> bars((0, 1, 4))
    ' ▂█'
    """
    highest = max(bins, default=0)
    return "".join(BARS[-(-8 * count // highest)] for count in bins) if highest else ""


def _numbers(found: tuple[Values | None, ...]) -> list[str]:
    return [
        f"#{nr} {line}" if len(found) > 1 and not number else line
        for nr, values in enumerate(found)
        if values is not None
        for number, line in enumerate(values_lines(values))
    ]


# Sizes


def bytes_of(type_: TensorType) -> int:
    """The bytes that the elements of such a tensor take; 0 where the dtype or the shape does not tell.

    >>> bytes_of(TensorType("bfloat16", (2, 3))), bytes_of(TensorType("bool", ()))
    (12, 1)
    """
    return math.prod([max(side, 0) for side in type_.shape]) * _bytes_of_one(type_.dtype)


@lru_cache
def _bytes_of_one(dtype: str) -> int:
    digits = _DIGITS.search(dtype)
    return 1 if dtype == "bool" or "8_" in dtype else int(digits[1]) // 8 if digits else 0


def stored(kept: Collection[Saved]) -> dict[tuple[int | str, int], int]:
    """The bytes that are kept, by storage and version; what tells no storage stands alone."""
    sizes: dict[tuple[int | str, int], int] = {}
    for number, saved in enumerate(kept):
        if saved.type is not None:
            key = (f"alone {number}" if saved.storage is None else saved.storage, saved.version)
            sizes[key] = max(saved.bytes, sizes.get(key, 0))
    return sizes


def plain_name(saved: Saved) -> str:
    """Return what a node keeps, under the name that it has in the formula: `self` for `_saved_self`."""
    return saved.name.removeprefix("_saved_")


def bytes_text(count: int) -> str:
    """Bytes as a person reads them.

    >>> bytes_text(1536)
    '1.5 KiB'
    """
    if count.bit_length() > 100:
        return f"2^{count.bit_length() - 1} B"  # no memory has so many: a shape may say anything
    size, unit = _scaled(count, 1024, ("B", "KiB", "MiB", "GiB"))
    return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"


def nanoseconds_text(count: int) -> str:
    """A time as a person reads it.

    >>> nanoseconds_text(1500)
    '1.5 µs'
    """
    size, unit = _scaled(count, 1000, ("ns", "µs", "ms", "s"))
    return f"{size:.3g} {unit}"


def flops_text(count: int) -> str:
    """Floating-point operations as a person reads them.

    >>> flops_text(5_184)
    '5.18 kFLOP'
    """
    size, unit = _scaled(count, 1000, ("FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP"))
    return f"{size:.3g} {unit}"


def _scaled(count: int, by: int, units: Sequence[str]) -> tuple[float, str]:
    """The same amount in the first unit of which it is less than `by`, or in the last; each is `by` times the other."""
    size, at = float(count), 0
    while size >= by and at < len(units) - 1:
        size, at = size / by, at + 1
    return size, units[at]


def _wrapped(text: str, further: str = "    ") -> list[str]:
    """The text in lines that are not too long, what goes on set in."""
    indent = text[: len(text) - len(text.lstrip())]
    return textwrap.wrap(
        text,
        LONGEST,
        subsequent_indent=f"{indent}{further}",
        drop_whitespace=True,
        break_on_hyphens=False,
        replace_whitespace=False,
    ) or [text]

"""Digests of the numbers of a step, a line each: small enough to keep, and the same on another processor but for
rounding."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from autograph_cli.graph.records import Exact, Node, above
from autograph_cli.graph.trace import Step
from autograph_cli.graph.views import taken

_FLOOR = {"gradient": 1e-5, "": 1e-6}
"""A number so small beside the largest norm of its kind is rounding by itself."""
_LINE = re.compile(r"(.+) = norm (\S+), signed ([^\s,]+)(.*)")


def digest_lines(step: Step) -> Iterator[str]:
    """Yield `net.0: addmm 1 = norm 3.1, signed -0.2` for each operation in order, and `gradient of w = ...` for each
    leaf, by what the first backward call gave it; `signed` is the sum of all numbers, each with a sign of its own.

    Outputs that nothing but the backward of their operation takes need not be filled, and have none.
    """
    used = set(taken(step.graph))
    met: Counter[str] = Counter()
    for node in step.graph:
        if not node.computes or node.measured is None:
            continue
        met[node.op] += 1
        for nr, exact in enumerate(node.measured.exact):
            if exact is not None and (not nr or (node.id, nr) in used):
                module = f"{node.module}: " if node.module else ""
                yield _line(f"{module}{node.op} {met[node.op]}" + (f" output {nr}" if nr else ""), exact)
    for node in step.graph:
        gradient = _gradient(node)
        if node.kind == "leaf" and gradient is not None:
            met["leaf"] += 1
            name = next(iter(node.outputs[0].names), f"leaf {met['leaf']}")
            yield _line(f"gradient of {name}", gradient)


def _gradient(node: Node) -> Exact | None:
    flows = () if node.measured is None else node.measured.flows
    return flows[0].given[0] if flows and flows[0].given else None


def _line(name: str, exact: Exact) -> str:
    norm, signed = above("numbers").digest(exact)
    others = f", not finite {signed[-1]:g}" if len(signed) > above("numbers").PROBES else ""
    return f"{name} = norm {norm:.6g}, signed {signed[0]:.6g}{others}"


def parted(old: Sequence[str], new: Sequence[str], tolerance: float) -> list[str]:
    """Return a sentence on the first digest that is another one than before, and how many are.

    >>> parted(["mul 1 = norm 1, signed 0.5"], ["mul 1 = norm 2, signed 0.5"], 1e-4)
    ['the numbers part first at `mul 1`: norm 1, signed 0.5 -> norm 2, signed 0.5']
    """
    mine, theirs = _read(old), _read(new)
    largest = dict.fromkeys(_FLOOR, 0.0)
    for name, (norm, _, _) in mine.items():
        largest[_kind(name)] = max(largest[_kind(name)], norm)
    found = []
    for name, (norm, signed, others) in mine.items():
        theirs_too = theirs.get(name, mine[name])
        allowed = tolerance * norm + _FLOOR[_kind(name)] * largest[_kind(name)]
        gaps = abs(norm - theirs_too[0]), abs(signed - theirs_too[1])
        if others != theirs_too[2] or max(gaps) > allowed:
            found.append(name)
    if not found:
        return []
    first = f"{found[0]} = "
    texts = [next(line.removeprefix(first) for line in lines if line.startswith(first)) for lines in (old, new)]
    more = f", and at {len(found) - 1} more" if len(found) > 1 else ""
    return [f"the numbers part first at `{found[0]}`: {texts[0]} -> {texts[1]}{more}"]


def _read(lines: Sequence[str]) -> dict[str, tuple[float, float, str]]:
    found = [_LINE.fullmatch(line) for line in lines]
    return {each[1]: (float(each[2]), float(each[3]), each[4]) for each in found if each is not None}


def _kind(name: str) -> str:
    return "gradient" if name.startswith("gradient of ") else ""

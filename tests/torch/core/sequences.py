"""What 10,000 random sequences of statements give with real PyTorch, as digests, and a part of them in full.

`python -m tests.torch.core.sequences` records them into sequences.json (a few minutes).
"""

import json
from pathlib import Path
from typing import Any

from tests.torch.core.player import Row, digest, observe
from tests.torch.core.statements import sequence, table_digest

EXPECTED = Path(__file__).with_name("sequences.json")
COUNT = 10_000
FULL = 100
"""How many sequences are recorded in full."""
PER_LINE = 16
NUDGE = 1e-10
"""What changes a digest when the first numbers change by so little says nothing about an engine."""
UNSTABLE = "-" * 6


def short(seen: Row) -> str:
    """A digest as six letters."""
    return f"{digest(seen) & 0xFFFFFF:06x}"


def difference(got: Any, want: Any, path: str = "") -> str:
    """Return where two observations part; empty if they do not."""
    if isinstance(got, list) and isinstance(want, list) and len(got) == len(want):
        return next(
            filter(None, (difference(x, y, f"{path}[{i}]") for i, (x, y) in enumerate(zip(got, want, strict=True)))), ""
        )
    return "" if got == want else f"{path}: {got!r}, but PyTorch: {want!r}"


def script(seed: int, text: list[str]) -> str:
    """A sequence to be read, and to be run again beside PyTorch."""
    start, _ = sequence(seed)
    lines = [f"v[{i}] = {code.replace('A', 'v[0]')}" for i, code in enumerate(start)] + text
    again = f"to see where it parts from PyTorch: python -m tests.torch.core.sequences {seed}"
    return "\n".join([f"sequence {seed}:", *(f"    {line}" for line in lines), again])


def record(torch: Any, ours: Any) -> dict[str, Any]:
    """Digests of sequences until COUNT are known that are stable; `open` are those in which our engine still differs."""
    digests, full, still_open, seed = [], {}, [], 0
    while sum(d != UNSTABLE for d in digests) < COUNT + len(still_open):
        steps = sequence(seed)
        seen = observe(steps, torch, each=False)
        stable = short(seen) == short(observe(steps, torch, each=False, shift=NUDGE))
        digests.append(short(seen) if stable else UNSTABLE)
        if stable and len(full) < FULL:
            full[seed] = seen
        if stable and short(observe(steps, ours, each=False)) != digests[-1]:
            still_open.append(seed)
        seed += 1
    return {"tables": table_digest(), "open": still_open, "digests": digests, "full": full}


def write(found: dict[str, Any]) -> None:
    digests = found["digests"]
    rows = [json.dumps(" ".join(digests[i : i + PER_LINE])) for i in range(0, len(digests), PER_LINE)]
    full = [
        f"{json.dumps(str(seed))}: {json.dumps(seen, separators=(',', ':'))}" for seed, seen in found["full"].items()
    ]
    head = f'"tables": {found["tables"]},\n"open": {json.dumps(found["open"])},\n'
    EXPECTED.write_text(
        "{\n" + head + '"digests": [\n' + ",\n".join(rows) + '\n],\n"full": {\n' + ",\n".join(full) + "\n}\n}\n"
    )


if __name__ == "__main__":
    import sys

    import torch

    from autograph_cli import torch as ours

    torch.set_num_threads(1)
    if len(sys.argv) > 1:
        for seed in map(int, sys.argv[1:]):
            text: list[str] = []
            theirs = observe(sequence(seed), torch, text=text)
            print(script(seed, text), difference(observe(sequence(seed), ours), theirs) or "no difference", sep="\n")
    else:
        write(record(torch, ours))

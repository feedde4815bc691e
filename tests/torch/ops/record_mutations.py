"""Compares what PyTorch and the engine say of calls that are almost right, beside real PyTorch.

`python -m tests.torch.ops.record_mutations` writes a sample of them into mutations.json, `... --all` tries them all and prints how
many agree, and of the others the most frequent ones.
"""

import collections
import contextlib
import io
import json
import re
import sys
import zlib

from tests.torch.ops.mutations import EXPECTED, mutated, observe, scope, valid_calls

SHARE = 24
"""One call of so many is in the sample."""


def calls(every=False):
    """All calls in their order, or the sample."""
    found = dict.fromkeys(call for valid in valid_calls() for call in (valid, *mutated(valid)))
    return [call for call in found if every or zlib.crc32(call.encode()) % SHARE == 0]


def said(torch, asked):
    """Return what an engine says of each call."""
    names = scope(torch)
    with contextlib.redirect_stdout(io.StringIO()):
        return {call: observe(torch, call, names) for call in asked}


def report(expected, found):
    """Print how many calls agree, and the functions with the most that do not."""
    different = [call for call in expected if expected[call] != found[call]]
    print(f"{len(expected)} calls, {len(expected) - len(different)} agree")
    taken = [call for call in different if found[call].startswith("taken") and not expected[call].startswith("taken")]
    print(f"{len(taken)} are taken that PyTorch refuses")
    functions = collections.Counter(re.sub(r"^T\(.*?\)\.|\(.*", "", call) for call in different)
    print(", ".join(f"{name} {count}" for name, count in functions.most_common(40)))


def main():
    import torch
    import torch._dynamo  # Once it was stopped half way while it was imported, whatever needs it fails.

    from autograph_cli import torch as ours

    every = "--all" in sys.argv
    expected, found = (said(engine, calls(every)) for engine in (torch, ours))
    report(expected, found)
    if not every:
        agreed = {call: text for call, text in expected.items() if found[call] == text}
        different = [call for call in expected if call not in agreed]
        EXPECTED.write_text(json.dumps({"agreed": agreed, "different": different}, indent=0) + "\n")


if __name__ == "__main__":
    main()

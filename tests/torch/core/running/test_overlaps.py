"""Writes into memory that overlaps are refused where PyTorch refuses them (overlaps.py records it)."""

import json

import pytest

from autograph_cli import torch
from tests.cases import for_each
from tests.torch.core.running.overlaps import CASES, EXPECTED, REPEATED, WRITES, left, play

KNOWN = json.loads(EXPECTED.read_text())
STRICTER = frozenset(("threshold_", "zeros", "sum", "stack", "full", "arange", "tril_", "triu_", "tril"))
"""What PyTorch writes several times into one position without a word."""
OTHER_REASON = frozenset(
    ("where", "matmul", "float_power", "dot", "inv", "index_copy_", "index_select", "scatter_", "scatter_add_", "cat")
)
"""What PyTorch refuses, or looks at first, for another reason in some of the cases."""
RESIZED = frozenset(("stack", "topk", "max", "polygamma", "outer", "cross", "addmm", "index_select"))
"""What PyTorch looks at after it has resized `out=`, or after it has written."""


def _name(code: str) -> str:
    return code.split("(")[0].rsplit(".", 1)[1]


@for_each(("setup", "codes"), CASES)
def test_what_overlaps_is_refused_as_in_pytorch(setup: str, codes: list[str]) -> None:
    apart = []
    for code, want in zip(codes, KNOWN[setup].split(), strict=True):
        got = play(torch, setup, code)
        known = (
            (_name(code) in STRICTER and (got, want) == ("itself", "ok"))
            or (_name(code) in OTHER_REASON and "other" in (got, want))
            or (_name(code) in RESIZED and "overlap" in (got, want) and "ok" in (got, want))
        )
        if got != want and not known:
            apart.append(f"{setup}; {code}: {got}, but PyTorch: {want}")
    assert not apart, "\n".join(apart)


@pytest.mark.parametrize("setup", REPEATED)
def test_what_is_written_several_times_leaves_what_pytorch_leaves(setup: str) -> None:
    known = KNOWN["left"][setup]
    found = [left(torch, setup, code) for code in WRITES]
    apart = [f"{code}: {a}, but PyTorch: {b}" for code, a, b in zip(WRITES, found, known, strict=True) if a != b]
    assert not apart, "\n".join(apart)

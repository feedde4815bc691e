"""Custom Functions that change what they are given: one node, which takes what the tensor was before."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from autograph_cli.graph import from_json, to_json, to_text
from autograph_cli.record.run.runner import Target, record

START = """
import torch
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w, several=False):
        x.mul_(w).add_(1)
        ctx.mark_dirty(x)
        ctx.save_for_backward(w)
        return (w * 1, x) if several else x
    @staticmethod
    def backward(ctx, *grads):
        (w,) = ctx.saved_tensors
        return grads[-1] * w, grads[-1].sum(0) if grads[-1].dim() > 1 else grads[-1], None
w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
"""
"""`Scale` changes its first input; the lines below are run after it."""
CASES = {
    "a result": ("h = w * 2; Scale.apply(h, w); y = h.sum()", ["h = mul(w)", "h~2 = Scale(h, w)", "y = sum(h~2)"]),
    "a second output": (
        "h = w * 2; v, o = Scale.apply(h, w, True); y = h.sum() + v.sum()",
        ["h = mul(w)", "v, h~2 = Scale(h, w)", "%3 = sum(h~2)", "%4 = sum(v)", "y = add(%3, %4)"],
    ),
    "a view": (
        "h = torch.stack([w, w]); Scale.apply(h[0], w); y = h.sum()",
        ["h = stack(w, w)", "%2 = select(h)", "h~2 = Scale(%2, w)", "%4 = as_strided(h~2)", "y = sum(h~2)"],
    ),
    "an input": (
        "h = torch.ones(3); Scale.apply(h, w); y = h.sum()",
        ["%0 = ones()", "h = Scale(%0, w)", "y = sum(h)"],
    ),
    "a view of an input": (
        "h = torch.ones(2, 3); Scale.apply(h[0], w); y = h.sum()",
        ["%0 = ones()", "%1 = select(%0)", "h = Scale(%1, w)", "%4 = as_strided(h)", "y = sum(h)"],
    ),
    "twice": (
        "h = w * 2; Scale.apply(h, w); Scale.apply(h, w); y = h.sum()",
        ["h = mul(w)", "%2 = Scale(h, w)", "h~2 = Scale(%2, w)", "y = sum(h~2)"],
    ),
    "a whole that has a view": (
        "h = w * 2; v = h[1:]; Scale.apply(h, w); y = v.sum()",
        ["h = mul(w)", "v = slice(h)", "h~2 = Scale(h, w)", "v~2 = as_strided(h~2)", "y = sum(v~2)"],
    ),
    "after and before changes outside of autograd": (
        "h = w * 2\nwith torch.no_grad(): h.neg_()\nScale.apply(h, w)\nwith torch.no_grad(): h.abs_()\ny = h.sum()",
        ["h = mul(w)", "%2 = neg_(h)", "h~2 = Scale(%2, w)", "%4 = abs_(h~2)", "y = sum(%4)"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_it_takes_what_the_tensor_was(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines, expected = CASES[case]
    (tmp_path / "script.py").write_text(f"{START}{lines.replace('; ', chr(10))}\ny.backward()\n")
    _, trace = record(Target.of("script.py"))
    drawn = from_json(to_json(trace)).steps[-1].graph
    found = [line.strip().partition("  grad_fn")[0] for line in to_text(drawn).splitlines() if " = " in line]
    assert [re.sub(r": \w+\[[^]]*\]", "", line) for line in found if "(" in line] == expected

"""What a function changed in place, whole or in part, is in the ONNX model of its graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autograph_cli import capture, torch
from autograph_cli.export import ExportError, render

pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

CHANGES = """
m = torch.zeros(3, 3); m[0].fill_(1); return x @ m
m = torch.zeros(3, 3); m[0] = p[1]; return x @ m
m = torch.zeros(3, 3); m[1:].copy_(p[:2]); return x @ m
m = torch.zeros(3, 3); m[:, 1:][0] += p[0, :2]; return x @ m
m = torch.zeros(3, 3); m.t()[2].copy_(p[1]); return x @ m
m = torch.ones(3, 3); m.t().mul_(p); return x @ m
m = torch.zeros(3, 3); torch.add(p[0], 1, out=m[1]); return x @ m
m = torch.empty(3, 3); torch.mul(p, 2, out=m); return x @ m
m = torch.zeros(3, 3); v = m[0]; m.fill_(2); return x * v
m = torch.zeros(3, 3); v = m[1:].t()[0]; m[2] = p[0]; return x[:, :2] * v
m = torch.zeros(3, 3); a, b = m.split([1, 2]); b.copy_(p[:2]); return (x @ m) * a
m = torch.zeros(3, 3); r = m.unbind(1); r[1].add_(p[0]); return x @ m * r[1]
m = torch.zeros(9); m.view(3, 3)[1] = p[0]; return x @ m.view(3, 3)
m = torch.zeros(3, 3); m[1, 1] = 3; return x @ m
m = torch.zeros(3, 3); m.masked_fill_(p > 1, 5); return x @ m
m = torch.zeros(1, 3, 3); m.squeeze(0)[0].add_(p[0]); return x @ m[0]
m = torch.zeros(3, 3); d = m.detach(); d[1] = p[1]; return x @ m
m = torch.zeros(3, 3); d = m[0].detach(); d.copy_(p[1]); return x @ m
m = torch.zeros(3, 3); d = m.detach()[1]; m.fill_(2); d.copy_(p[1]); return x @ m * d
m = p.clone(); m[0].data[1:] = 4; return x @ m
q = p * 1; q[0].zero_(); return x @ q
h = x * 2; h[0].mul_(3); return h + x
h = x * 2; h[:, 1] = 5; return h * x
h = x * 2; h[0, 1:].add_(x[1, :2]); return h * x
o = torch.zeros(2, 3); o[:, 1] = x[:, 0]; return o * x
o = torch.zeros(2, 3); o[:, 1].add_(x[:, 0]); o[0] = p[0]; return o * x
o = torch.zeros(3, 2); o.t().copy_(x); return o.t() * x
h = x * 2; h.add_(1).relu_(); return h
m = torch.zeros(3, 3); m.diagonal().copy_(p[0]); return x @ m
m = torch.zeros(3, 3); m[1, 1] = 3; m[p > 1] = 2; return x @ m
m = p.clone(); m[:, p[0].argsort()] = 5.; return x @ m
m = p.clone(); m[p > 1] = p[p > 1] * 2; return x @ m
i = p[0].argsort(); d = x.clone(); d[i[:2] % 2, i[:2]] = 1.; return d
i = p[0].argsort(); d = x.clone(); d[:, i] = x + 1; return d * x
i = p[0].argsort(); d = x.clone(); d.index_put_((i % 2,), p, accumulate=True); return d
i = p[0].argsort(); d = x.clone(); d.index_add_(1, i, x, alpha=2); return d
i = p[0].argsort(); d = x.clone(); d.index_fill_(1, i[:1], 3); return d * x
"""
REFUSED = {
    "h = x * 2; d = h.detach(); d[0] = 1; return h * d": r"fill_ \(of memory that a gradient goes to",
    "h = x * 2; v = h[0]; h[0].mul_(3); return h + v": "cannot be written as ONNX: as_strided",
}


def function_of(text: str) -> Any:
    space: dict[str, Any] = {"torch": torch}
    exec("\n  ".join(["def function(x, p):", *text.split("; ")]), space)
    return space["function"]


@pytest.mark.parametrize("text", CHANGES.strip().splitlines())
def test_a_change_in_place_is_in_the_model(text: str) -> None:
    function, x, p = function_of(text), torch.randn(2, 3, requires_grad=True), torch.rand(3, 3) + 0.5
    model = render(capture(function, x, p), "forward", "onnx")
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    arrays = {"x": x.detach().numpy(), "p": p.numpy()}
    (found, *_) = session.run(None, {one.name: arrays[one.name] for one in session.get_inputs()})
    np.testing.assert_allclose(found, function(x, p).detach().numpy(), rtol=1e-5)


@pytest.mark.parametrize("text", REFUSED)
def test_a_change_that_cannot_be_followed_is_refused(text: str) -> None:
    x, p = torch.randn(2, 3, requires_grad=True), torch.rand(3, 3) + 0.5
    with pytest.raises(ExportError, match=REFUSED[text]):
        render(capture(function_of(text), x, p), "forward", "onnx")

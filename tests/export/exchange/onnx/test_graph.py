"""What is written as ONNX passes its checker, and onnxruntime computes the numbers that the engine computed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autograph_cli import capture, torch
from autograph_cli.export import ExportError, render
from autograph_cli.export.exchange.onnx.graph import to_onnx
from autograph_cli.torch import nn
from autograph_cli.torch.nn import functional as F
from tests.export.recorded_arrays import computed_with, kept_arrays

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

EXPRESSIONS = """
v.sum(1, keepdim=True)
v.mean((0, 1))
v.amax(1)
v.max(1).values
v.max()
v.var(1)
v.std()
v.prod(1)
v.logsumexp(1)
v.cumsum(1)
1 - v
1 / v
2 ** v
p ** v
v - 1.5
v.sub(v, alpha=2)
v.add(v, alpha=3)
v / p
v * 2.5
-v
v % 2
torch.maximum(v, -v)
v.minimum(-v)
v.abs()
v.square()
F.avg_pool2d(x, 2)
F.adaptive_avg_pool2d(x, 1)
F.max_pool2d(x, 3, 2, 1)
F.avg_pool2d(x, 3, 2, 1, ceil_mode=True)
F.avg_pool2d(x, 3, 2, 1, count_include_pad=False)
F.adaptive_avg_pool2d(x, 2)
F.interpolate(x, scale_factor=2)
F.pad(v, (1, 2))
F.pad(v, (1, 0), value=3.0)
F.gelu(v)
F.gelu(v, approximate="tanh")
F.elu(v, 0.5)
F.softplus(v, 2)
F.hardtanh(v)
F.hardswish(v)
F.mish(v)
F.logsigmoid(v)
F.leaky_relu(v, 0.2)
F.silu(v)
F.glu(v[:, :4], 1)
F.hardsigmoid(v)
F.celu(v, 0.7)
F.relu(v)
F.mse_loss(v, p)
F.l1_loss(v, p)
F.smooth_l1_loss(v, p)
F.huber_loss(v, p)
F.mse_loss(v, p, reduction="sum")
F.binary_cross_entropy(v.sigmoid(), p.sigmoid())
F.binary_cross_entropy_with_logits(v, p)
F.smooth_l1_loss(v, p, beta=0.5)
F.cross_entropy(v, i)
F.nll_loss(v, i, reduction="none")
F.cross_entropy(v, i, reduction="sum")
torch.where(v > 0, v, p)
torch.where(v > 0, v, 0.0)
torch.where(v <= 0, 1.0, v)
v.masked_fill(v < 0, -1)
v.clamp(0, 1)
v.clamp(max=1)
v.clamp(min=0.1)
v.gather(1, i[:, None])
v.index_select(1, i)
v[i]
v[:, i]
v[1]
v[..., -1]
v[0:2, 1::2]
v[-2:]
v[:, None]
v.t()
v.tril(1)
v.triu()
v.norm()
v.norm(dim=1, p=1)
v.repeat(2, 1)
v.to(torch.float64)
v.topk(2).values
v.sort(1).values
v.sort(1, descending=True).values
F.conv_transpose2d(x, x[:, :, :3, :3].permute(1, 0, 2, 3), stride=2, output_padding=1)
F.layer_norm(v, (5,), eps=1e-3)
F.group_norm(x, 2)
F.normalize(v)
torch.stack([v, p], 1)
torch.cat([v, p], 1)
v.unbind(1)[2]
v.chunk(2, 1)[1]
v.split([2, 3], 1)[1]
v.expand(2, 3, 5)
v.permute(1, 0)
v @ v.T
torch.einsum("ij,kj->ik", v, v)
torch.baddbmm(x[0], x[0], x[0], alpha=0.5)
v[0].dot(v[1])
v.mv(v[0])
torch.outer(v[0], v[1])
F.scaled_dot_product_attention(x, x, x, is_causal=True)
F.scaled_dot_product_attention(x, x, x, attn_mask=x[0, 0])
v.floor() * v + v.round()
v.erf()
torch.lerp(v, p, 0.3)
torch.addcmul(v, v, p, value=2)
v.softmax(0)
v.log_softmax(-1)
F.embedding(i, v)
v.expm1()
p.log1p() * v
p.rsqrt() * v
p.sqrt() * v
p.log() * v
(v.sin() + v.cos()) * v.exp()
v.flatten() + v.reshape(-1)
v.view(5, 3)
v.unsqueeze(0).squeeze()
(v > 0) * v
v + i[:, None]
v.tanh().detach() * v
((v > 0) & (v < 1)) * v
(v != p) * v
v.argmax(1) * v[:, 0]
v[:, i] * p[i, i][:, None]
v[i[:, None], i]
v[None, i][:, :, i]
v[p > 1]
v[p[:, 0] > 1]
v.scatter(1, i[None], v * 2) + v.scatter_add(1, i[None], v)
v.diagonal() + v.unfold(1, 3, 1).sum((0, 1))
p.diagonal(1) * v[:, 1] + p.diagonal(-1, 1, 0) * v[:, 0]
torch.fmod(v, p) + v.trunc() * v + torch.div(v, p, rounding_mode="trunc") * v
torch.logaddexp(v, p)
v.flip(1) + v.roll(1, 1) + v.roll((1, 1), (0, 1))
(v > 0).any(1, keepdim=True) * v + (v > 0).all() * v + v.isnan() * v
F.pad(v[None], (1, 1), mode="reflect")
F.pad(v[None], (1, 2), mode="replicate")
F.interpolate(x, scale_factor=2, mode="bilinear")
F.interpolate(x[0], size=7, mode="linear", align_corners=True)
F.threshold(v, 0.1, 3) + F.softshrink(v) + F.hardshrink(v)
F.kl_div(v.log_softmax(1), p.softmax(1), reduction="sum")
v.clamp(p * 0.1, p)
v * torch.autograd.grad(v.tanh().softmax(1)[0].sum() + v.relu().sigmoid().sum(), v, create_graph=True)[0]
"""
MODULES = """
nn.Linear(5, 4) of v
nn.Linear(5, 4, bias=False) of v
nn.Conv2d(4, 6, 3) of x
nn.Conv2d(4, 4, 3, padding=1, groups=2) of x
nn.Conv2d(4, 2, 2, stride=2, bias=False) of x
nn.Conv2d(4, 2, 3, dilation=2) of x
nn.Conv1d(8, 3, 3, padding=1) of x[0]
nn.ConvTranspose2d(4, 2, 3) of x
nn.ConvTranspose1d(8, 3, 2) of x[0]
nn.BatchNorm2d(4) of x
nn.BatchNorm1d(5) of v
nn.BatchNorm2d(4, affine=False, eps=1e-3) of x
nn.LayerNorm(8) of x
nn.LayerNorm([8, 8]) of x
nn.LayerNorm(8, elementwise_affine=False) of x
nn.GroupNorm(2, 4) of x
nn.GroupNorm(2, 4, affine=False) of x
nn.InstanceNorm2d(4) of x
nn.MaxPool2d(2) of x
nn.AvgPool2d(2) of x
nn.AdaptiveAvgPool2d(2) of x
nn.Upsample(scale_factor=2) of x
nn.Flatten() of x
nn.Unflatten(1, (5, 1)) of v
nn.ReLU() of v
nn.GELU() of v
nn.SiLU() of v
nn.Sigmoid() of v
nn.Tanh() of v
nn.ELU() of v
nn.Softplus() of v
nn.PReLU() of v
nn.LeakyReLU(0.1) of v
nn.Hardswish() of v
nn.Softmax(1) of v
nn.LogSoftmax(1) of v
nn.Identity() of v * 2
nn.Dropout(0.5).eval() of v * 2
nn.ZeroPad2d(1) of x
nn.Embedding(5, 3) of i
nn.MSELoss() of v, p
nn.CrossEntropyLoss() of v, i
nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 2)) of v
nn.RMSNorm(5) of v
nn.Softmin(1) of v
nn.MultiheadAttention(8, 2, batch_first=True).eval() of x[0], x[0], x[0]
nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True) of x[0]
nn.RNNCell(5, 3) of v, p[:, :3]
nn.LSTMCell(5, 3) of v, (p[:, :3], p[:, :3])
nn.GRUCell(5, 3) of v, p[:, :3]
nn.LSTM(8, 3) of x[0]
nn.LSTM(8, 3, 2, bidirectional=True, batch_first=True) of x[0]
nn.LSTM(8, 4, proj_size=2) of x[0]
nn.GRU(8, 3, bidirectional=True) of x[0]
nn.RNN(8, 3, nonlinearity="relu") of x[0]
nn.ReflectionPad2d(2) of x
nn.Hardshrink() of v
nn.KLDivLoss(reduction="batchmean") of v.log_softmax(1), p.softmax(1)
nn.UpsamplingBilinear2d(scale_factor=2) of x
"""


def given() -> dict[str, Any]:
    torch.manual_seed(0)
    return {
        "x": torch.randn(2, 4, 8, 8, requires_grad=True),
        "v": torch.randn(3, 5, requires_grad=True),
        "p": torch.rand(3, 5) + 0.5,
        "i": torch.tensor([2, 0, 1]),
    }


def assert_same(function: Any, x: Any, v: Any, p: Any, i: Any, m: Any = None) -> None:
    """onnxruntime computes of the model what the engine computes; its inputs have the names that tensors have here, or
    are gradients that a pass within the function went on with."""
    with kept_arrays() as arrays:
        graph = capture(function, x, v, p, i, m)
    session = onnxruntime.InferenceSession(render(graph, "forward", "onnx"), providers=["CPUExecutionProvider"])
    taken, before = computed_with(graph)
    values = {edge: arrays.given[old] for edge, old in before.items() if old in arrays.given}
    held = {one.name: one for one in onnx.load_from_string(to_onnx(taken, "", values)).graph.initializer}
    named = {"x": x, "v": v, "p": p, "i": i, "m": m}
    feed = {
        one.name: onnx.numpy_helper.to_array(held[one.name])
        if one.name.startswith("gradient_of_")
        else value_of(one.name, named)
        for one in session.get_inputs()
    }
    wanted = function(x, v, p, i, m)
    wanted = [one for one in flat(wanted) if one is not None and one.requires_grad]
    for mine, theirs in zip(session.run(None, feed), wanted, strict=True):
        assert mine.dtype == theirs.detach().numpy().dtype
        np.testing.assert_allclose(mine, theirs.detach().numpy(), rtol=2e-4, atol=1e-5)


def flat(result: Any) -> list[Any]:
    """The results of a function, those in tuples as well."""
    return [one for each in result for one in flat(each)] if isinstance(result, tuple) else [result]


def value_of(name: str, named: dict[str, Any]) -> np.ndarray:
    """The tensor of this name, which may be a parameter of a module."""
    first, *path = name.split(".")
    value = named[first]
    for part in path:
        value = getattr(value, part)
    return np.asarray(value.detach().numpy())


@pytest.mark.parametrize("text", EXPRESSIONS.strip().splitlines())
def test_an_operation_computes_the_same(text: str) -> None:
    function = eval(f"lambda x, v, p, i, m: {text}", {"torch": torch, "F": F})
    assert_same(function, **given())


@pytest.mark.parametrize("text", MODULES.strip().splitlines())
def test_a_module_computes_the_same(text: str) -> None:
    made, _, arguments = text.partition(" of ")
    torch.manual_seed(1)
    m = eval(made, {"nn": nn})
    function = eval(f"lambda x, v, p, i, m: m({arguments})", {})
    assert_same(function, **given(), m=m)


def test_operations_that_cannot_be_written_are_all_named_in_one_error() -> None:
    v = given()["v"]
    with pytest.raises(ExportError, match=r"cannot be written as ONNX: fft_fft|erfinv, .*digamma|digamma"):
        render(capture(lambda v: v.digamma() + (v * 0.1).erfinv(), v), "forward", "onnx")


def test_derivatives_are_refused() -> None:
    with pytest.raises(ExportError, match="ONNX holds what a script computed, not its derivatives"):
        render(capture(lambda v: v.sin(), given()["v"]), "backward", "onnx")


def test_nodes_tell_their_lines_and_modules() -> None:
    net = nn.Sequential(nn.Linear(5, 2))
    model = onnx.load_from_string(render(capture(lambda net, v: net(v), net, given()["v"]), "forward", "onnx"))
    (gemm,) = (node for node in model.graph.node if node.op_type == "Gemm")
    assert {prop.key: prop.value for prop in gemm.metadata_props} == {
        "module": "net.0",
        "autograd": "AddmmBackward0",
        "operation": "addmm",
    }
    assert sorted(one.name for one in model.graph.input) == ["net.0.bias", "net.0.weight", "v"]

"""What tinygrad's VIZ, Model Explorer and Netron show of the models of peers.py, as text.

tinygrad records its own tensors, so the models are made anew of its layers; the other two read PyTorch's ExportedProgram.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from typing import Any


def exported(model: Any, x: Any, penalty: bool) -> Any:
    """The ExportedProgram of what is differentiated."""
    import torch
    from peers import computed

    class Computed(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, x: Any) -> Any:
            return computed(self.model, x, penalty)

    return torch.export.export(Computed() if penalty else model, (x,))


def model_explorer(model: Any, x: Any, penalty: bool) -> str:
    """Return what its adapter for PyTorch hands to its page."""
    from model_explorer import pytorch_exported_program_adapter_impl as adapter

    program = exported(model, x, penalty)
    made = adapter.PytorchExportedProgramAdapterImpl(program, {"const_element_count_limit": 16}).convert()
    return json.dumps(made, default=asdict)


def netron(model: Any, x: Any, penalty: bool) -> str:
    """The picture in its page, with what the sidebar says of the first node that has parameters."""
    import netron as tool
    import torch
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as play:
        torch.export.save(exported(model, x, penalty), file := f"{folder}/model.pt2")
        host, port = tool.start(file, browse=False)
        try:
            browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": 1280, "height": 1000})
            page.goto(f"http://{host}:{port}")
            page.click("text=Accept")
            page.wait_for_selector("body.default #canvas .node", timeout=60_000)
            drawn = page.inner_html("#canvas")
            page.locator("#canvas text", has_text="weight").first.click(force=True)
            return drawn + page.inner_text("#sidebar")
        finally:
            tool.stop()


def remade(model: Any, x: Any, penalty: bool) -> tuple[Any, Any, bool]:
    """The model of tinygrad's layers, with its input and parameters computed."""
    os.environ |= {"VIZ": "-1", "DEV": "NULL", "TRACEMETA": "2"}
    from tinygrad import Tensor, nn

    Tensor.training = True
    net, given = _made_of(model), Tensor(x.detach().numpy())
    Tensor.realize(given, *nn.state.get_parameters(net))
    return net, given, penalty


def tinygrad(net: Any, given: Any, penalty: bool) -> str:
    """Return what VIZ sends to its page as the graph of tensors of the gradients; the kernels are not made."""
    from tinygrad import nn
    from tinygrad.uop import ops
    from tinygrad.viz import serve

    total = net(given).sum()
    if penalty:
        (slope,) = total.gradient(given)
        total = (((slope * slope).sum(1).sqrt() - 1) ** 2).mean()
    total.backward()
    first, *rest = [each.grad for each in nn.state.get_parameters(net) if each.grad is not None]
    first.schedule_linear(*rest)
    data = serve.VizData(ops.RewriteTrace(ops.tracked_keys, ops.tracked_ctxs, ops.uop_fields))
    serve.load_rewrites(data)
    *_, last = (step for one in data.ctxs for step in one["steps"] if step["name"] == "View Tensor Graph")
    drawn = json.dumps(next(serve.get_render(data, last["query"])["value"])["graph"])
    ops.tracked_ctxs.clear()  # what is left is written to a file at exit
    return drawn


def _made_of(module: Any) -> Any:
    """The same module, of tinygrad's layers."""
    from tinygrad import Tensor, nn

    table: dict[str, Callable[[Any], Any]] = {
        "Sequential": lambda m: _Chain([_made_of(one) for one in m]),
        "Residual": lambda m: _Residual(_made_of(m.inner), _made_of(m.around)),
        "Block": lambda m: _Block({name: _made_of(one) for name, one in m.named_children()}),
        "Steps": lambda m: _Steps(_made_of(m.cell), _made_of(m.head)),
        "Linear": lambda m: nn.Linear(m.in_features, m.out_features),
        "Conv2d": lambda m: nn.Conv2d(
            m.in_channels, m.out_channels, m.kernel_size, m.stride, m.padding, bias=m.bias is not None
        ),
        "BatchNorm2d": lambda m: nn.BatchNorm(m.num_features),
        "LayerNorm": lambda m: nn.LayerNorm(m.normalized_shape),
        "Embedding": lambda m: nn.Embedding(m.num_embeddings, m.embedding_dim),
        "LSTMCell": lambda m: nn.LSTMCell(m.input_size, m.hidden_size),
        "MaxPool2d": lambda m: lambda x: x.max_pool2d((m.kernel_size,) * 2, m.stride, padding=m.padding),
        "AdaptiveAvgPool2d": lambda m: lambda x: x.mean((2, 3), keepdim=True),
        "Flatten": lambda m: lambda x: x.flatten(1),
        "Identity": lambda m: lambda x: x,
        "Tanh": lambda m: Tensor.tanh,
        "ReLU": lambda m: Tensor.relu,
        "GELU": lambda m: Tensor.gelu,
    }
    return table[type(module).__name__](module)


class _Chain:
    def __init__(self, layers: list[Any]) -> None:
        self.layers = layers

    def __call__(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer(x)
        return x


class _Residual:
    def __init__(self, inner: Any, around: Any) -> None:
        self.inner, self.around = inner, around

    def __call__(self, x: Any) -> Any:
        return (self.inner(x) + self.around(x)).relu()


class _Block:
    def __init__(self, parts: dict[str, Any]) -> None:
        self.parts = parts

    def __call__(self, x: Any) -> Any:
        of = self.parts
        several = [
            p.reshape(*p.shape[:2], 4, -1).transpose(1, 2) for p in of["attention"](of["before"](x)).chunk(3, -1)
        ]
        found = several[0].scaled_dot_product_attention(*several[1:], is_causal=True).transpose(1, 2).flatten(2)
        x = x + of["out"](found)
        return x + of["inner"](of["after"](x))


class _Steps:
    def __init__(self, cell: Any, head: Any) -> None:
        self.cell, self.head = cell, head

    def __call__(self, x: Any) -> Any:
        state = None
        for t in range(x.shape[0]):
            state = self.cell(x[t], state)
        return self.head(state[0])

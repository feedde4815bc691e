"""A view whose memory was changed has its new history wherever it is used: the gradients and graphs of PyTorch."""

import json

from autograph_cli import torch
from tests.cases import for_each
from tests.torch.core.running.changed_views import CHANGES, CONSUMERS, EXPECTED, play

KNOWN = json.loads(EXPECTED.read_text())
OTHER_GRAPH = {
    "torch.func.vjp(torch.sin, v)[0]": "the view's new history is worked out before the function runs, not while",
    "torch.func.vjp(torch.sin, v)[1](x[:2])[0]": "the input of the transform is a leaf that can be seen",
    "torch.func.jvp(torch.sin, (x[:2],), (v,))[1]": "the primal has one node where PyTorch has two",
    "torch.autograd.grad((v * v).sum(), x, create_graph=True)[0]": "the order of two parts of a complex number",
}
"""Where values and gradients are PyTorch's, but not each node."""


@for_each("consumer", CONSUMERS)
def test_a_changed_view_leads_where_it_leads_in_pytorch(consumer: str) -> None:
    found = json.loads(json.dumps([play(torch, change, consumer) for change in CHANGES]))
    apart = [
        f"{change}; {consumer}\n    {got}\n    PyTorch: {want}"
        for change, got, want in zip(CHANGES, found, KNOWN[consumer], strict=True)
        if (got[1:] != want[1:] if consumer in OTHER_GRAPH else got != want)
    ]
    assert not apart, "\n".join(apart)

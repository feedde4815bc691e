"""Records with real PyTorch in which order the nodes of second derivatives are made, into second_order.json.

`python -m tests.torch.ops.record_second_order` from the repository's root.
"""

import json
from pathlib import Path

EXPECTED = Path(__file__).with_name("second_order.json")

EXPRESSIONS = """
x/y 2/x x.reciprocal() x.rsqrt() x.sigmoid() x.tanh() x*y x**y x**3 x.sqrt() x.log() x.remainder(y) x.fmod(y) x.atan2(y)
torch.addcdiv(x,y,x,value=0.5) torch.addcmul(x,x,y,value=0.5) torch.sinc(x) torch.special.i1(x) torch.special.i1e(x)
torch.special.ndtri(x) torch.special.log_ndtr(x) F.silu(x) F.mish(x) F.softsign(x) F.softplus(x) F.gelu(x) F.gaussian_nll_loss(x,y,x*y)
"""


def observe(torch, text: str) -> str:
    """The nodes that a gradient leads to, in the order of their numbers, each with the positions of those that it
    leads to."""
    x, y = (torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in ([0.3, 0.7], [0.6, 0.4]))
    result = eval(text, {"torch": torch, "F": torch.nn.functional, "x": x, "y": y})
    seed = torch.ones_like(result).requires_grad_()
    grads = torch.autograd.grad(result, (x, y), seed, create_graph=True, allow_unused=True)
    waiting, nodes = [g.grad_fn for g in grads if g is not None], set()
    while waiting:
        node = waiting.pop()
        if node is not None and node.name() != "torch::autograd::AccumulateGrad" and node not in nodes:
            nodes.add(node)
            waiting += [following for following, _ in node.next_functions]
    ordered = sorted(nodes, key=lambda node: node._sequence_nr())
    positions = {node: str(position) for position, node in enumerate(ordered)}
    return " ".join(f"{n.name()}({','.join(positions.get(m, '-') for m, _ in n.next_functions)})" for n in ordered)


if __name__ == "__main__":
    import torch

    found = {text: observe(torch, text) for text in EXPRESSIONS.split()}
    EXPECTED.write_text(json.dumps(found, indent=0) + "\n")

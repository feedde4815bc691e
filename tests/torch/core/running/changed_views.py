"""Views whose memory was changed, each handed to each consumer of tensors: what gradients and graphs real PyTorch gives.

`python -m tests.torch.core.running.changed_views` records them into changed_views.json.
"""

import json
import warnings
from pathlib import Path
from typing import Any

from tests.torch.core.functions import functions_of
from tests.torch.core.player import digest, first_sentence, graph

EXPECTED = Path(__file__).with_suffix(".json")

CHANGES = """
p = x * 1; v = p[:2]; p.mul_(3)
p = x * 1; v = p[:]; p.mul_(3)
p = x * 1; v = p[:3][1:]; p.mul_(3)
p = x * 1; v = p[:2]; p[1:].mul_(3)
p = x * 1; v = p[:2]; p[2:].mul_(3)
p = x * 1; v = p[:3]; v[1:].mul_(3); v = v[:2]
p = x * 1; w = p[:3]; v = w[1:]; w.mul_(x[:3])
p = x * 1; v = p[:2]; v.mul_(3); p.mul_(x)
p = x * 1; v = p[:2]; p.copy_(x * 7)
p = x * 1; v = p[:2]; p.mul_(3); p.add_(x)
p = x * 1; v = p[:2]; p[1] = x[3] * 5
p = x * 1; v = p[:2]; p[torch.tensor([0, 3])] = x[:2] * 5
p = x * 1; v = p[:2]; p[p > 0.9] = 2.0
p = x * 1; v = p[:2]; p.zero_()
p = x * 1; v = p[:2]; Dirty.apply(p)
p = x * 1; v = p[:2]; p.data.mul_(3)
p = x * 1; v = p[:2]; p.detach().mul_(3)
p = x * 1; v = p[:2]; torch.no_grad()(p.mul_)(3)
p = x * 1; v = torch.no_grad()(p.narrow)(0, 0, 2); p.mul_(3)
p = x * 1; v = p.chunk(2)[0]; p.mul_(3)
p = x * 1; v = p.detach()[:2]; p.mul_(3)
p = (x * 1).view(2, 2); v = p.t()[0]; p.mul_(3)
p = (x * 1).view(2, 2); v = p.diagonal(); p.add_(x.view(2, 2).t())
p = x * 1; v = p[:1].expand(2); p.mul_(3)
p = x * 1; v = p.as_strided((2,), (2,)); p.mul_(3)
p = torch.complex(x, x * 2); v = torch.view_as_real(p)[0]; p.mul_(2)
p = torch.zeros(4, dtype=torch.float64); v = p[:2]; p.copy_(x * 7)
p = torch.zeros(4, dtype=torch.float64); v = p[:2]; p[1] = x[3] * 5
p = torch.zeros(4, dtype=torch.float64); v = p[:3][1:]; p[:3].add_(x[:3])
p = torch.zeros(4, dtype=torch.float64); v = p[:2]; p[torch.tensor([0, 0])] = x[:2]
p = torch.zeros(4, dtype=torch.float64); v = p[:2]; p.index_add_(0, torch.tensor([1]), x[:1])
p = torch.zeros(4, dtype=torch.float64); v = p[:2]; p.masked_scatter_(p == 0, x)
p = torch.zeros(2, 2, dtype=torch.float64); v = p[0]; p.t()[0].copy_(x[:2])
""".strip().split("\n")
"""`v` is a view of two elements of what was computed of the leaf `x`."""

CONSUMERS = """
v * 2
v * v
torch.stack([v, v])
torch.cat([v, x])
torch.einsum("i,i", v, v)
torch.nn.functional.linear(v, torch.ones(1, 2, dtype=torch.float64))
v[0]
v.view(-1) * 2
v.detach() * x[:2]
v.clone().mul_(v)
v.mul_(2)
x[:2].index_put((torch.tensor([0]),), v[:1])
Double.apply(v)
Kept.apply(v)
Once.apply(v)
Same.apply(v)
Window.apply(v)
Dirty.apply(v)
Swapped.apply(v, x[:2])[0]
Two.apply(x[:2], v)[0]
Sparing.apply(v, v)[1]
Double.apply(Double.apply(v))
hooked("register_full_backward_hook")(v)
hooked("register_full_backward_pre_hook")(v)
hooked("register_backward_hook")(v)
hooked("register_forward_hook")(v)
hooked("register_forward_pre_hook")(v)
checkpoint(torch.sin, v, use_reentrant=True)
checkpoint(torch.sin, v, use_reentrant=False)
checkpoint(lambda a: a * v, x[:2], use_reentrant=True)
checkpoint(lambda a: a * v, x[:2], use_reentrant=False)
torch.func.grad(lambda a: (a * v).sum())(x[:2] * 1)
torch.func.grad(lambda a: (a * a).sum())(v)
torch.func.vjp(torch.sin, v)[0]
torch.func.vjp(torch.sin, v)[1](x[:2])[0]
torch.func.jvp(torch.sin, (x[:2],), (v,))[1]
torch.func.jacrev(torch.sin)(v)
torch.vmap(lambda a: a * v)(x[:2])
torch.vmap(torch.sin)(v)
torch.autograd.functional.jacobian(torch.sin, v, create_graph=True)
torch.autograd.grad((v * v).sum(), v, create_graph=True)[0]
torch.autograd.grad((p * p).sum(), v, create_graph=True)[0]
torch.autograd.grad((v * v).sum(), x, create_graph=True)[0]
torch.autograd.grad((v * v).sum(), p, create_graph=True, allow_unused=True)[0]
torch.autograd.grad(v, v, torch.eye(2, dtype=torch.float64), is_grads_batched=True)[0] * v
torch.autograd.grad(v, torch.autograd.graph.get_gradient_edge(v), x[:2], create_graph=True)[0]
seen(v.grad_fn, v.register_hook(lambda g: g * 5), v * 2)
seen(v.retain_grad(), v * 2)
seen(torch.autograd.graph.register_multi_grad_hook([v, x], note), v * 2)
seen(v.requires_grad, v.is_leaf, v.output_nr, v.grad_fn.name(), v * 2)
seen(repr(v), v * 2)
seen(v.grad_fn.register_prehook(lambda g: (g[0] * 3,)), v * 2)
packed(lambda: v * v)
torch.nn.Parameter(v) * x[:2]
torch.nn.utils.parameters_to_vector([v, x])
torch.inference_mode()(lambda: v * 2)()
torch.no_grad()(lambda: v * 2)()
seen(torch.autograd.backward(v.sum(), inputs=[v, x]), v.grad, v * 0)
torch.add(v, 1, out=torch.empty(2, dtype=torch.float64))
torch.where(v > 0, v, x[:2])
torch.empty(2, dtype=torch.float64).copy_(v)
""".strip().split("\n")


def play(torch: Any, change: str, consumer: str) -> list[Any]:
    """A digest of the result's graph, its value and the gradient that reaches `x`; or the first sentence of an error."""
    x = torch.tensor([0.7, -0.3, 1.1, 0.9], dtype=torch.float64, requires_grad=True)
    told: list[Any] = []
    alive: list[Any] = []
    names = {**vars(functions_of(torch)), "torch": torch, "x": x, "checkpoint": torch.utils.checkpoint.checkpoint}
    names |= {
        "hooked": lambda how: _hooked(torch, how, told, alive),
        "seen": lambda *found: (told.extend(map(_plain, found[:-1])), found[-1])[1],
        "note": lambda grads: told.append([_plain(g) for g in grads]),
        "packed": lambda run: _packed(torch, run, told),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(change, names)
            y = eval(consumer, names)
            seen = [digest(graph([y.grad_fn])), _plain(y)]
            y.sum().backward()
            grads = [_plain(t.grad) for t in (x, names["v"]) if t.is_leaf or t.retains_grad]
        except Exception as error:
            return [type(error).__name__, first_sentence(error), told]
    return [*seen, grads, told]


def _plain(found: Any) -> Any:
    """Return what can stand in JSON, with numbers that do not depend on how a sum was rounded."""
    if hasattr(found, "tolist"):
        return _plain(found.tolist())
    if isinstance(found, list):
        return [_plain(x) for x in found]
    if isinstance(found, float):
        return round(found, 9) + 0.0
    return found if isinstance(found, (bool, int, str)) else None


def _hooked(torch: Any, how: str, told: list[Any], alive: list[Any]) -> Any:
    class Sine(torch.nn.Module):
        def forward(self, a: Any) -> Any:
            return a.sin()

    module = Sine()
    alive.append(module)
    getattr(module, how)(
        lambda module, *given: told.append([_plain(g) for some in given for g in some if g is not None])
    )
    return module


def _packed(torch: Any, run: Any, told: list[Any]) -> Any:
    def pack(t: Any) -> Any:
        told.append(_plain(t))
        return t * 1

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        return run()


if __name__ == "__main__":
    import torch

    torch.set_num_threads(1)
    lines = [
        json.dumps({c: [play(torch, change, c) for change in CHANGES]}, separators=(",", ":"))[1:-1] for c in CONSUMERS
    ]
    EXPECTED.write_text("{\n" + ",\n".join(lines) + "\n}\n")

"""Custom Functions that the compiled tape and Python's code must run alike.

    python -m tests.torch.core.running.plain_functions

prints, as JSON, what each of these programs prints.
"""

import contextlib
import io
import json
import sys
from typing import Any

from autograph_cli import torch

FORWARDS = (
    "ctx.save_for_backward(x); return x * x",
    "y = x.exp(); ctx.save_for_backward(y, None, x); return y",
    "ctx.factor = 3; return x * 3, x + 1",
    "return x",
    "ctx.mark_dirty(x); return x.mul_(2)",
    "y = x > 0; ctx.mark_non_differentiable(y); return x * 1, y",
    "ctx.set_materialize_grads(False); return x * 1, x * 2",
    "return x[:1]",
    "return x.view(-1), x * 2",
    "return x.half(), x.int(), x.double()",
    "return x.sum()",
    "return x * 2, None, 'text'",
    "return [x * 2]",
    "return ()",
    "ctx.save_for_backward([x]); return x * 2",
    "ctx.save_for_backward(x, x, torch.ones(2)); return x * 2",
    "ctx._saved = 1; return x * 2",
    "ctx._operation = 1; return x * 2",
    "raise ValueError('no')",
    "y = x * 2; y.requires_grad_(); return y",
    "y = torch.empty(x.shape, dtype=x.dtype); torch.mul(x.detach(), 2, out=y); ctx.save_for_backward(y, x); return y",
    "del ctx.to_save; return x * 2",
    "del ctx.materialize_grads; return x * 2",
    "return Square.apply(x) * 2",
    "\n        with torch.enable_grad(): return x * 2",
    "return torch.nn.Parameter(x * 2)",
    "return torch.complex(x, x)",
)
BACKWARDS = (
    "return 2 * grads[0], None",
    "return 2 * grads[0]",
    "return sum(g * t for g, t in zip(grads, [*ctx.saved_tensors, 1, 1]) if g is not None and t is not None), None",
    "print(grads, ctx.needs_input_grad, torch.is_grad_enabled()); return grads[0], grads[0]",
    "return grads[0], None, None",
    "return None, None",
    "return (1.0, None)",
    "return grads[0][:1], None",
    "return grads[0].double(), None",
    "return grads[0] * 1j, None",
    "return [grads[0], None]",
    "return Square.apply(grads[0]), None",
    "raise ValueError('back')",
    "return torch.nn.Parameter(grads[0].detach()), None",
)
USES = (
    "print(by(my(x, other).sum(), [leaf]))",
    "y = my(x, other); print(y, y.grad_fn.next_functions, y.grad_fn.needs_input_grad, y.grad_fn._input_metadata[0].shape)",
    "y = my(x, other); print(y.grad_fn.saved_tensors, [t.grad_fn for t in y.grad_fn.saved_tensors if t is not None])",
    "y = my(x, other); print(by(y.sum(), [leaf], True)); print(by(y.sum(), [leaf])); print(by(y.sum(), [leaf]))",
    "y = my(x, other); x.detach().mul_(2); print(by(y.sum(), [leaf]))",
    "g, = torch.autograd.grad(my(x, other).exp().sum(), [leaf], create_graph=True); print(g, g.grad_fn); print(by(g.sum(), [leaf]))",
    "y = my(x, other); y.grad_fn.register_hook(lambda a, b: print(a, b)); y.sum().backward(); print(leaf.grad)",
    "y = my(x, other)\nwith torch.no_grad(): print(my(x, other))\nwith torch.inference_mode(): print(my(x, other))",
    "with torch.autograd.graph.saved_tensors_hooks(lambda t: t.numpy(), torch.from_numpy): print(by(my(x, other).sum(), [leaf]))",
    "with torch.autograd.detect_anomaly(check_nan=False): print(by(my(x, other).sum(), [leaf]))",
    "y = my(x, other); y.sum().backward(inputs=[x]); print(x.grad, leaf.grad)",
    "a = x + 1; b = my(a, other); c = a + 2\n"
    "print([c.grad_fn._sequence_nr() - t.grad_fn._sequence_nr() for t in (a, b)], by((b + c).sum(), [leaf]))",
    "y = my(x, other); x.detach_(); print(y.grad_fn.saved_tensors, by(y.sum(), [leaf]))",
)
INPUTS = (
    "leaf = x = torch.ones(3, requires_grad=True); other = 2",
    "leaf = torch.ones(3, requires_grad=True); x = leaf * 2; other = None",
    "leaf = torch.ones(2, 3, requires_grad=True); x = (leaf * 1)[0]; other = torch.ones(3)",
    "leaf = torch.ones(3, requires_grad=True); x = leaf.clone().mul_(3); other = leaf",
    "leaf = x = torch.tensor(2.0, dtype=torch.float64, requires_grad=True); other = 'text'",
)
BEGIN = """
def by(y, inputs, keep=False): return torch.autograd.grad(y, inputs, retain_graph=keep, allow_unused=True)
class Square(torch.autograd.Function):
    @staticmethod
    def forward(x): return x * x
    @staticmethod
    def setup_context(ctx, inputs, output): ctx.save_for_backward(*inputs)
    @staticmethod
    def backward(ctx, grad): return 2 * grad * ctx.saved_tensors[0]
class My(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, other): {forward}
    @staticmethod
    def backward(ctx, *grads): {backward}
def my(x, other):
    y = My.apply(x, other)
    print(y, torch.is_grad_enabled())
    kept = [t for t in (y if isinstance(y, tuple) else (y,)) if isinstance(t, torch.Tensor) and t.requires_grad]
    return kept[0] if len(kept) != 2 else kept[0] + 0 * kept[1].float()
{inputs}
"""


def programs() -> list[str]:
    """Each forward and each backward in each way, but not each pair of them."""
    found = []
    for i, forward in enumerate(FORWARDS):
        for j, backward in enumerate(BACKWARDS):
            if i > 1 and j:
                continue
            for k, inputs in enumerate(INPUTS):
                uses = USES if i < 2 and j < 3 else (USES[(i + j + k) % len(USES)], *USES[:3])
                begin = BEGIN.format(forward=forward, backward=backward, inputs=inputs)
                found += [begin + use for use in uses]
    return found


def printed() -> list[str]:
    """Return what each program prints, with the error that it ends in."""
    found = []
    for text in programs():
        out = io.StringIO()
        scope: dict[str, Any] = {"torch": torch, "print": lambda *a, out=out: print(*map(shown, a), file=out)}
        with contextlib.redirect_stdout(out):
            try:
                exec(text, scope)
            except Exception as error:
                out.write(f"{type(error).__name__}: {error}")
        found.append(out.getvalue())
    return found


def shown(x: Any) -> str:
    """Return how a thing prints, without its address."""
    return str(x).partition(" at 0x")[0]


if __name__ == "__main__":
    json.dump(printed(), sys.stdout)

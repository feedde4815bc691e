"""Programs that the compiled tape and Python's code must run alike: what they print, and the graphs they leave.

    python -m tests.torch.core.plain_programs

prints, as JSON, what each program prints and the text of its snapshot.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from autograph_cli.graph.snapshot import HOLDS, Snapshot
from autograph_cli.record.runner import Target, record
from autograph_cli.testing.scripts import trace_sections
from autograph_cli.testing.settings import VIEWS, Settings
from tests.engines.random_scripts import script

SETTINGS = replace(Settings(), steps="first,1,2", views=VIEWS, include=HOLDS)
SEEDS = range(1000, 1080)

STATEMENTS = (
    # Whose memory a gradient is
    "x = torch.ones(3, requires_grad=True); g = torch.ones(3); (x * 1).backward(g); print(x.grad._version)",
    "x = torch.ones(3, requires_grad=True); g = torch.ones(3); (x + 0).backward(g); print(x.grad.data_ptr() == g.data_ptr())",
    "x, y = (torch.ones(3, requires_grad=True) for _ in 'xy'); (x + y).exp().sum().backward()\n"
    "print(x.grad.data_ptr() == y.grad.data_ptr(), x.grad._version, y.grad._version)",
    "x = torch.ones(2, 3, requires_grad=True); x.T.exp().sum().backward(); print(x.grad.stride(), x.grad._version)",
    "x = torch.ones(2, 3).T.requires_grad_(); x.exp().sum().backward(); print(x.grad.stride(), x.grad._version)",
    "x = torch.ones(3, requires_grad=True)\nfor _ in range(3): (x * x).sum().backward()\nprint(x.grad, x.grad._version)",
    "x = torch.tensor(1.0, requires_grad=True)\nfor _ in range(3): (x * x).backward()\nprint(x.grad, x.grad._version)",
    # Gradients of what was broadcast
    "b = torch.zeros(4, requires_grad=True); (torch.randn(5, 4) * b).sum().backward(); print(b.grad)",
    "b = torch.zeros(1, requires_grad=True); (torch.randn(33, 1) * b).sum().backward(); print(b.grad)",
    "b = torch.zeros(4, requires_grad=True); (torch.randn(3, 5, 4) * b).exp().sum().backward(); print(b.grad)",
    "b = torch.zeros(4, requires_grad=True); (torch.randn(0, 4) * b).sum().backward(); print(b.grad)",
    "for s in [(1,), (1, 1), (3, 1), (3, 4), (2, 3, 4), (1, 4), (2, 1, 1), (5,), ()]:\n"
    "  for t in [(1,), (4,), (1, 1), (3, 1), (1, 4), (2, 1, 4), ()]:\n"
    "    try: b = torch.randn(t, requires_grad=True); (torch.randn(s) * b).exp().sum().backward(); print(s, t, b.grad)\n"
    "    except RuntimeError as e: print(e)",
    "b = torch.zeros(5, 1, requires_grad=True); (torch.randn(5, 4) * b).sum().backward(); print(b.grad)",
    "b = torch.zeros(4, dtype=torch.float64, requires_grad=True); (torch.randn(5, 4) * b).sum().backward(); print(b.grad)",
    # Numbers, dtypes, layouts
    "x = torch.ones(3, requires_grad=True); print(x * 2, 2 * x, x * 2.5, x + True, x / 2, x - 1, x**2, 1 - x, 2 / x)",
    "x = torch.ones(3, dtype=torch.int64); print(x * 2, x * 2.5, x / 2, x + x, x.sin(), torch.atan2(x, x))",
    "x = torch.ones(3, dtype=torch.float16, requires_grad=True); print(x * x, x.sin(), (x + 1).dtype)",
    "x = torch.ones(3, dtype=torch.complex64, requires_grad=True); (x * x.exp()).abs().sum().backward(); print(x.grad)",
    "x = torch.randn(3, 4).T.requires_grad_(); y = x * 2; print(y.stride(), (y + torch.randn(4, 3)).stride(), y.exp().stride())",
    "x = torch.arange(48.0).reshape(2, 4, 6).requires_grad_()\n"
    "for y in (x[..., 1:3], x[:, :, ::2], x[:, 1:2], x.mT, x.flip(0)[:, 1:], x.permute(2, 0, 1)[1:], x[:1, :, :1]):\n"
    "  for z in (y, y.T if y.ndim == 2 else y.mT, torch.ones(y.shape), y[..., :1], torch.ones(y.shape[-1])):\n"
    "    try: print((y * z).stride(), (y + z).exp().stride(), y.sigmoid().stride(), (y.sigmoid() * z).sum().item())\n"
    "    except RuntimeError as e: print(e)",
    "x = torch.ones(3, requires_grad=True); print(torch.add(x, x, alpha=3), torch.add(x, 1, alpha=2), torch.sub(x, x, alpha=2))",
    "x = torch.ones(2, 2, requires_grad=True)\nout = torch.empty(0)\nwith torch.no_grad(): print(torch.exp(x, out=out) is out, out)",
    # Grad mode, leaves, inference
    "x = torch.ones(3, requires_grad=True)\nwith torch.no_grad(): y = x * 2; v = x.view(3, 1)\nprint(y.requires_grad, v._is_view())",
    "with torch.inference_mode(): z = torch.ones(3)\nx = torch.ones(3, requires_grad=True)\nprint((z + z).is_inference())\n"
    "try: x * z\nexcept RuntimeError as e: print(e)",
    "p = torch.nn.Parameter(torch.ones(3)); (p * p).sum().backward(); print(p.grad, type(p * 1))",
    # Versions
    "x = torch.ones(3, requires_grad=True); y = x.exp(); y.mul_(2)\ntry: y.sum().backward()\nexcept RuntimeError as e: print(e)",
    "w = torch.ones(3); x = torch.ones(3, requires_grad=True); y = x * w; w.add_(1)\n"
    "try: y.sum().backward()\nexcept RuntimeError as e: print(e)",
    "w = torch.ones(3); w.add_(1); x = torch.ones(3, requires_grad=True); y = x * w; y.sum().backward(); print(x.grad)",
    "x = torch.ones(3, requires_grad=True); y = (x * x).sum(); y.backward()\n"
    "try: y.backward()\nexcept RuntimeError as e: print(e)",
    # Views
    "x = torch.ones(4, requires_grad=True); y = x * 1; v = y.view(2, 2).T; y.mul_(3); print(v.grad_fn.name(), v._version)",
    "x = torch.ones(4, requires_grad=True); y = x * 1; v = y[1:]; v.mul_(3); print(y.grad_fn.name(), v.grad_fn.name(), v._base is y)",
    "x = torch.ones(4, requires_grad=True)\nwith torch.no_grad(): v = x.view(2, 2)\ntry: v.mul_(2)\nexcept RuntimeError as e: print(e)",
    # Errors
    "x, y = torch.ones(3, requires_grad=True), torch.ones(4)\nfor f in (torch.add, torch.mul, torch.atan2, torch.mm):\n"
    "  try: f(x, y)\n  except RuntimeError as e: print(e)",
    "x = torch.ones(3, requires_grad=True)\nfor a in (None, 'a', [1]):\n  try: x * a\n  except TypeError as e: print(e)",
    # Hooks and inputs of a pass
    "x = torch.ones(3, requires_grad=True); x.register_hook(lambda g: g * 2); (x * x).sum().backward(); print(x.grad)",
    "x = torch.ones(3, requires_grad=True); y = x * 2; y.register_hook(lambda g: g * 3); y.sum().backward(); print(x.grad)",
    "x, w = (torch.ones(3, requires_grad=True) for _ in 'xw'); y = x * w\n"
    "print(torch.autograd.grad(y.sum(), x), w.grad, torch.autograd.grad((x.exp() * w).sum(), [w, x], create_graph=True))",
    "x = torch.ones(3, requires_grad=True); y = x * x; y.sum().backward(inputs=[y]); print(y.grad, x.grad)",
    "x = torch.ones(3, requires_grad=True); g, = torch.autograd.grad((x**3).sum(), x, create_graph=True)\n"
    "h, = torch.autograd.grad(g.exp().sum(), x, create_graph=True); h.sum().backward(); print(x.grad, h.grad_fn.name())",
)  # fmt: skip


def programs() -> dict[str, str]:
    """The text of each program, by its name."""
    statements = {
        f"statements {i}": f"import torch\ntorch.manual_seed(0)\n{text}\n" for i, text in enumerate(STATEMENTS)
    }
    return statements | {f"random {seed}": script(seed) for seed in SEEDS}


def observed() -> dict[str, list[str]]:
    """What each program prints, and its graphs as text."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, text in programs().items():
            path, printed = Path(folder, "program.py"), io.StringIO()
            path.write_text(text)
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
                result, trace = record(Target.of(str(path)), SETTINGS.steps)
            made = Snapshot("program", trace_sections(trace, SETTINGS), SETTINGS.include, trace.total_steps)
            found[name] = [str(result.exit_code), printed.getvalue().replace(folder, ""), made.to_text()]
    return found


if __name__ == "__main__":
    json.dump(observed(), sys.stdout)

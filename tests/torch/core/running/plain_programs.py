"""Programs that the compiled tape and Python's code must run alike: what they print, and the graphs they leave.

    python -m tests.torch.core.running.plain_programs

prints, as JSON, what each program prints and the text of its snapshot.
"""

import contextlib
import io
import json
import sys
import tempfile
from pathlib import Path

from msgspec.structs import replace

from autograph_cli.graph.snapshot import HOLDS, Snapshot
from autograph_cli.record.run.runner import Target, record
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
    "for t in (torch.float32, torch.float64, torch.float16, torch.int64, torch.bool):\n"
    "  c, r = torch.tensor([[-0.0], [3], [1e30], [torch.inf], [torch.nan]]).nan_to_num(-7.5).to(t), torch.arange(-4, 5).to(t)\n"
    "  for x in (r, r[None], r.expand(5, 9), r.expand(5, 9) * 1, r[::2], r[:1], c, r[:0]):\n"
    "    for y in (c, c.T.clone().T, c[::2][:1], c.expand(5, 1)):\n"
    "      try: print(*((z.sum().item(), z.stride(), z.dtype) for z in (x * y, y * x, x + y, y + x)))\n"
    "      except RuntimeError as e: print(e)",
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
    "x, y = torch.randn(4), torch.randn(3, 4); z = torch.randn(2, 3, 4)\n"
    "for a in (x.expand(3, 4), x.expand(2, 3, -1), y.expand(2, -1, -1), z[:, :1].expand(-1, 3, -1), z[..., :1].expand(-1, -1, 4)):\n"
    "  for b in (y, y.T.clone().T, z, z.mT.clone().mT, z.transpose(0, 1).clone().transpose(0, 1), a):\n"
    "    print((a * b).stride(), (b * a).stride(), a.exp().stride(), (a + b).sum().item())",
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
    # Lists of tensors
    "x, y = (torch.randn(2, 3, requires_grad=True) for _ in 'xy'); z = torch.ones(1, 3)\n"
    "c = torch.cat((x, z, y)); d = torch.cat([x, y], 1); e = torch.stack((x, y, x), -1); print(c.grad_fn.next_functions[1])\n"
    "g = torch.autograd.grad((c**3).sum() + (d**3).sum() + (e**3).sum(), [x, y], create_graph=True)\n"
    "(g[0] * g[1]).sum().backward(); print(x.grad, y.grad)",
    "x = torch.randn(2, requires_grad=True); print(torch.cat((x, torch.ones(2, dtype=torch.float64))).dtype)\n"
    "print(torch.cat((torch.ones(0), x)).grad_fn.next_functions[0], torch.cat([torch.ones(2), torch.arange(2)]))\n"
    "for bad in ([], [x, 1], x, [x, torch.ones(2, 2)], [x, None], [torch.tensor(1.0)]):\n"
    "  for f in (torch.cat, torch.stack):\n"
    "    try: print(f(bad).shape)\n    except (RuntimeError, TypeError, ValueError) as e: print(type(e).__name__, e)",
    "x = torch.randn(3, 4, requires_grad=True); i, j = torch.tensor([0, 2, 0]), torch.tensor([1, 3, 1])\n"
    "for y in (x[i], x[i, j], x[:, j], x[None, i], x[x > 0], x[i[:, None], j], x[..., j], x[[0, 2]], x[-1, i]):\n"
    "  print(y.grad_fn.name(), y.stride(), torch.autograd.grad((y**2).sum(), x)[0])",
    "x = torch.randn(3, 4, requires_grad=True); i = torch.tensor([0, 2]); y = x[i]; z = x.index_put((i,), y, True); i.add_(0)\n"
    "for t in (y, z):\n  try: t.sum().backward()\n  except RuntimeError as e: print(e)",
    "x = torch.randn(3, 4, requires_grad=True); i = torch.tensor([0, 2]); i.add_(0); m = x > 0; y = x[i].exp() * x[m].sum()\n"
    "g, = torch.autograd.grad(y.sum(), x, create_graph=True); g.sum().backward(); print(x.grad)\n"
    "m.logical_not_()\ntry: (x[i].sum() + x[m].sum() + y.sum()).backward()\nexcept RuntimeError as e: print(e)",
    "with torch.inference_mode(): i = torch.tensor([0])\nx = torch.ones(3, requires_grad=True)\n"
    "try: x[i]\nexcept RuntimeError as e: print(e)",
    "x = torch.ones(4, requires_grad=True)\nwith torch.no_grad(): v = x.view(2, 2)\nprint(torch.cat((v, v)).grad_fn.next_functions)",
    "a = torch.randn(3, requires_grad=True); print(torch.addcmul(a, a, a).sum(), torch.lerp(a, a * 2, 0.3), torch.lerp(a, a * 2, a))\n"
    "print(torch.where(a > 0, a, 1.0), torch.where(a > 0, 2, a), torch.addcmul(a, a, a.double().detach()), a > 0, a == 1, a.isnan())",
    # Changes in place
    "x = torch.randn(3, requires_grad=True)\nfor change in ('add_', 'mul_', 'sub_', 'div_', 'copy_'):\n"
    "  for other in (2, 1.5, True, x.detach(), x, torch.tensor(2.0), torch.tensor(2), torch.ones(1), torch.ones(2, 3), x.double(), 1j):\n"
    "    y = x * 1\n    try:\n      z = getattr(y, change)(other); z.sum().backward(); print(z is y, y._version, y.grad_fn.name(), x.grad)\n"
    "    except (RuntimeError, TypeError) as e: print(type(e).__name__, e)\n    x.grad = None",
    "x = torch.rand(3, requires_grad=True)\nfor change in ('exp_', 'sqrt_', 'sin_', 'tanh_', 'sigmoid_', 'relu_', 'neg_', 'reciprocal_', 'zero_', 'square_', 'abs_'):\n"
    "  y = x * 1; z = getattr(y, change)(); z.sum().backward(); print(y._version, y.grad_fn.name(), x.grad); x.grad = None\n"
    "  y = x * 1; getattr(y[1:], change)(); y.sum().backward(); print(y._version, y.grad_fn.name(), x.grad); x.grad = None",
    "x, w = (torch.randn(3, requires_grad=True) for _ in 'xw'); y = x * 1; y.mul_(w); y.mul_(y); y.add_(w, alpha=2); y.pow_(2)\n"
    "y.addcmul_(w, w, value=3); y.lerp_(w, 0.5); y.clamp_(-1, 1); print(y._version)\n"
    "try: y.sum().backward()\nexcept RuntimeError as e: print(e)\n"
    "y = x * 1; y.mul_(w); y.add_(w, alpha=2); y.lerp_(w, 0.5); y.addcmul_(w, w, value=3); y.sum().backward(); print(x.grad, w.grad)",
    "x = torch.randn(4, 3, requires_grad=True); y = x * 1; v = y[1:]; u = v[:, 1]; t = u.view(3, 1); u.mul_(3); t.add_(x[:3, :1]); v.exp_()\n"
    "for z in (y, v, u, t): print(z.grad_fn.name(), [n and n.name() for n, _ in z.grad_fn.next_functions], z._version)\n"
    "(y.sum() + u.sum() + t.sum() + v.sum()).backward(); print(x.grad)",
    "x = torch.randn(4, 3, requires_grad=True); y = x * 1; v = y.T; v.mul_(2); w = y[:, ::2]; w.add_(1); y[:, 1] = 5; y[0] *= x[1]\n"
    "y[torch.tensor([1, 1])] = x[:2]; y.index_put_((torch.tensor([0]),), x[:1], True); y.index_add_(0, torch.tensor([2]), x[:1])\n"
    "y.masked_fill_(y.detach() > 1, 0.5); y.scatter_(1, torch.zeros(4, 1, dtype=torch.int64), x[:, :1]); print(y, y._version); (y**2).sum().backward(); print(x.grad)",
    "x = torch.randn(4, requires_grad=True)\nfor v in (x, x[1:], x.view(2, 2)[0], x.unbind()[0], x.expand(2, 4)):\n"
    "  for f in (lambda: v.mul_(2), lambda: v.zero_(), lambda: v.copy_(torch.ones(1)), lambda: v.add_(x.sum())):\n"
    "    try: print(f()._version)\n    except RuntimeError as e: print(e)",
    "x = torch.randn(4, requires_grad=True)\nwith torch.no_grad():\n  x.mul_(2); v = x[1:]; v.add_(1); x[0] = 3.0; x.sub_(x, alpha=0.1); print(x._version, x.grad_fn)\n"
    "try: v.mul_(2)\nexcept RuntimeError as e: print(e)\nprint(v.requires_grad, (x * 2).sum())",
    "x = torch.randn(4, requires_grad=True); y = x.exp(); v = y[1:]; z = v.sin(); v.mul_(2)\ntry: z.sum().backward()\nexcept RuntimeError as e: print(e)\n"
    "y = x.exp(); v = y[1:]; y.backward(torch.ones(4)); print(x.grad); v.mul_(2)\ntry: y.sum().backward()\nexcept RuntimeError as e: print(e)",
    "x = torch.randn(4, requires_grad=True); y = x * 1; v = y[1:]; y.retain_grad(); v.retain_grad(); y.register_hook(lambda g: g * 2)\n"
    "v.register_hook(lambda g: g * 3); v.mul_(2); y.register_hook(lambda g: g + 1); (y.sum() + v.sum()).backward(); print(x.grad, y.grad, v.grad)",
    "x = torch.randn(4, requires_grad=True); y = x * 1; y[1:].mul_(x[:3]); g, = torch.autograd.grad((y**2).sum(), x, create_graph=True)\n"
    "w = x * 2; w[0].add_(g.sum()); w.sum().backward(); print(x.grad)",
    "x = torch.randn(4, 2, requires_grad=True); y = x * 1; a, b = y.chunk(2)\nfor f in (lambda: a.mul_(2), lambda: y.mul_(2), lambda: b + 1):\n"
    "  try: print(f().grad_fn.name())\n  except RuntimeError as e: print(e)",
    "x = torch.tensor(2.0, requires_grad=True); y = x * 1; y.mul_(3); y.add_(x); y.copy_(x * x); y.backward(); print(y, x.grad, y._version)\n"
    "t = torch.tensor(0.0); t += 1; t.mul_(2.5); t.add_(torch.ones(())); v = t.view(1); v.mul_(2); t.div_(4)\nprint(t, v, t._version)\n"
    "try: t.add_(torch.ones(2))\nexcept RuntimeError as e: print(e)",
    "b = torch.zeros(3); v = b[1:]; x = torch.ones(2, requires_grad=True); v.add_(x); print(b.grad_fn.name(), v.grad_fn.name(), b._version)\n"
    "b.sum().backward(); print(x.grad); c = torch.zeros(3, dtype=torch.int64); c[1:].add_(2); c.mul_(c)\n"
    "try: c.add_(0.5)\nexcept RuntimeError as e: print(e)\ntry: c.add_(x.sum())\nexcept RuntimeError as e: print(e)\nprint(c, c._version)",
    "x = torch.arange(6.0); print(x[2:].copy_(x[:4].clone())); y = x.view(2, 3); y.copy_(y.clone().T.reshape(2, 3)); y.T.mul_(torch.ones(3, 2)); print(x)\n"
    "for f in (lambda: x[1:].add_(x[:-1]), lambda: x.add_(x), lambda: x.expand(2, 6).add_(1), lambda: x[:3].mul_(y[0]), lambda: x.scatter_(0, torch.tensor([0]), x)):\n"
    "  try: print(f())\n  except RuntimeError as e: print(e)",
    "with torch.inference_mode(): z = torch.ones(3)\ntry: z.add_(1)\nexcept RuntimeError as e: print(e)\nx = torch.ones(3, requires_grad=True); y = x * 1\n"
    "for f in (lambda: y.add_(z), lambda: y.mul_(z), lambda: z.detach()):\n  try: print(f())\n  except RuntimeError as e: print(e)",
    "x = torch.randn(2, 3, dtype=torch.complex64, requires_grad=True); y = x * 1; y.mul_(2); y[0].add_(1j); y.real.mul_(2); y.abs().sum().backward(); print(x.grad)",
    "p = torch.nn.Parameter(torch.ones(3)); q = torch.nn.Parameter(torch.ones(3))\nwith torch.no_grad(): p.add_(q, alpha=-0.1); p.copy_(q * 3); print(p, p._version)\n"
    "try: p.add_(q)\nexcept RuntimeError as e: print(e)\n(p * q).sum().backward(); print(p.grad); p.grad.zero_(); p.grad.add_(1); print(p.grad._version)",
    "x = torch.randn(3, requires_grad=True); y = x * 1\n"
    "with torch.autograd.graph.saved_tensors_hooks(lambda t: t * 2, lambda t: t): y.mul_(x); y[1:].mul_(x[1:])\ny.sum().backward(); print(x.grad)",
    "x = torch.randn(3, requires_grad=True); y = x * 1; f = y.grad_fn; y.sin_(); v = y[1:]; v.exp_(); print(v.grad_fn.name(), y.grad_fn.name())\n"
    "print(y.grad_fn.next_functions[0][0].name(), y.is_leaf, v.is_leaf, v._base is y); y.sum().backward(); print(x.grad)",
    # Products whose gradients add up
    "w = torch.randn(3, 4, requires_grad=True); xs = torch.randn(5, 2, 3)\n"
    "sum((x @ w).sin().sum() for x in xs).backward(retain_graph=True); print([v.hex() for v in w.grad.view(-1).tolist()])\n"
    "y = sum((x @ w).exp().sum() for x in xs); y.backward(retain_graph=True); y.backward(); print(w.grad)",
    "p = torch.randn(3, 3, requires_grad=True); kept = []; w = p * 2; w.retain_grad(); w.register_hook(kept.append)\n"
    "y = w @ w @ w + w @ p @ w + w + w.t() @ w; y.sin().sum().backward(); print(w.grad, p.grad, kept[0] is w.grad)\n"
    "z = p @ w.detach() + p + p @ p @ p; print(torch.autograd.grad(z.sum(), p), p.grad)",
    "w = torch.randn(3, 3, requires_grad=True); h = torch.randn(2, 3); s = w + 1\n"
    "for i in range(4): h = (h @ w + h @ s).tanh()\n"
    "a = torch.autograd.grad(h.sum(), [s, w], retain_graph=True); b = torch.autograd.grad(h.sum(), [s, w], create_graph=True)\n"
    "print(a, b, [torch.equal(i, j) for i, j in zip(a, b)])",
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
    """Return what each program prints, and its graphs as text."""
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

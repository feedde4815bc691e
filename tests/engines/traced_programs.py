"""Programs in which PyTorch traces, compiles or transforms functions, or computes with tensors that hold no numbers."""

from __future__ import annotations

START = """\
import warnings; warnings.simplefilter("ignore")
import torch
from torch import nn
torch.manual_seed(0)
class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear, self.norm = nn.Linear(width, width), nn.LayerNorm(width)
    def forward(self, x):
        inner = self.norm(x)
        rows = inner.size(0)
        return x + torch.tanh(self.linear(inner)).view(rows, -1)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.block, self.head = Block(3), nn.Linear(3, 1)
    def forward(self, x):
        hidden = self.block(x)
        return self.head(hidden)
class Double(torch.autograd.Function):
    generate_vmap_rule = True
    @staticmethod
    def forward(x, y):
        return x * y * 2
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        return 2 * grad * y, 2 * grad * x
class Old(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        kept = x.exp()
        ctx.save_for_backward(kept)
        return kept
    @staticmethod
    def backward(ctx, grad):
        kept, = ctx.saved_tensors
        return grad * kept
net, x = Net(), torch.rand(4, 3)
w = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)
def cube(v):
    y = v ** 3
    z = y.sin() + v.detach()
    return z.sum()
def seen(*values):
    print(*values, torch.rand(1).item(), torch.is_grad_enabled())
def train(model):
    loss = (model(x) ** 2).mean()
    loss.backward()
    seen(loss.item(), [None if p.grad is None else p.grad.sum().item() for p in net.parameters()])
"""
END = """
after = (w * 2).exp(); loss = after.sum(); loss.backward(); print(w.grad, "end")
"""
PROGRAMS = {
    "resized": (
        "window = torch.hann_window(3); few = torch.zeros(2) * 2; first = (w[:2] + few.detach()).sum()\n"
        "few.resize_(3).fill_(3); none = torch.zeros(0) * 2; torch.arange(3.0, out=none)\n"
        "(first + (w * few * window * none).sum()).backward(); seen(w.grad)"
    ),
    "jit.trace": (
        "t = torch.jit.trace(net, x); train(t); train(t); train(t); seen(t.graph)\n"
        "c = torch.jit.trace(nn.Conv2d(1, 2, 3), torch.rand(1, 1, 5, 5)); seen(c.graph)\n"
        "f = torch.jit.trace(lambda v: v.view(v.size(0), -1) * v[:3].sum() + v.shape[1], x); seen(f.graph, f(x))\n"
        "m = torch.jit.trace_module(net, {'forward': x}); seen(m.code)"
    ),
    "jit.script": (
        "@torch.jit.script\ndef f(v, n: int):\n    for i in range(n):\n        v = v * 2 + i\n    return v.relu()\n"
        "for _ in range(3): f(w, 3).sum().backward()\n"
        "s = torch.jit.script(net); train(s); train(s); seen(s.code)\n"
        "z = torch.jit.freeze(torch.jit.script(net.eval())); seen(z(x))"
    ),
    "jit.save": (
        "import io; b = io.BytesIO(); torch.jit.save(torch.jit.trace(net, x), b); b.seek(0)\n"
        "l = torch.jit.load(b); train(l); seen(l(x))"
    ),
    "export": (
        "p = torch.export.export(net, (x,)); seen(p.graph); seen(p.module()(x))\n"
        "d = torch.export.Dim('n'); q = torch.export.export(net, (x,), dynamic_shapes=({0: d},), strict=True)\n"
        "seen(q.graph); train(q.module())"
    ),
    "fx.symbolic_trace": (
        "g = torch.fx.symbolic_trace(net); seen(g.code); train(g)\n"
        "class Keep(torch.fx.Tracer):\n    def is_leaf_module(self, m, name): return isinstance(m, Block)\n"
        "k = torch.fx.GraphModule(net, Keep().trace(net)); seen(k.code); train(k)\n"
        "class Shown(torch.fx.Interpreter):\n    def run_node(self, n): print(n.op); return super().run_node(n)\n"
        "Shown(g).run(x).sum().backward(); seen(net.head.weight.grad)"
    ),
    "make_fx": (
        "from torch.fx.experimental.proxy_tensor import make_fx\n"
        "def f(v):\n    y = v.sin(); out = torch.zeros(3); torch.mul(y.detach(), 2, out=out); return torch.autograd.grad(cube(v), v)[0] + out\n"
        "for mode in ('real', 'fake', 'symbolic'):\n"
        "    g = make_fx(f, tracing_mode=mode)(torch.ones(3, requires_grad=True)); seen(g.code)\n"
        "h = make_fx(torch.func.vmap(torch.func.grad(cube)))(x); seen(h.code, h(x))\n"
        "k = make_fx(lambda v: Double.apply(v, v).sum())(x); seen(k.code)"
    ),
    "compile": (
        "for backend in ('eager', 'aot_eager'):\n"
        "    torch._dynamo.reset(); c = torch.compile(net, backend=backend); train(c); train(c)\n"
        "    f = torch.compile(lambda v: Double.apply(v, v).sum(), backend=backend); f(w).backward()\n"
        "    g = torch.compile(lambda v, u: Double.apply(v, u).sum(), backend=backend, fullgraph=True); g(w, w * 2).backward()\n"
        "    o = torch.compile(lambda v: Old.apply(v).sum(), backend=backend, fullgraph=True); o(w).backward(); seen(w.grad)"
    ),
    "compile with breaks": (
        "@torch.compile(backend='aot_eager')\ndef f(v):\n"
        "    y = v * 2\n    print('break')\n    y = y.sin() * v.detach()\n    torch._dynamo.graph_break()\n"
        "    n = Old.apply(y).sum().item()\n    return (Double.apply(y, y) + n).sum()\n"
        "for _ in range(2): f(w).backward(); seen(w.grad)\n"
        "@torch.compiler.disable\ndef aside(v): return Old.apply(v.clone())\n"
        "h = torch.compile(lambda v: aside(v * 2).tanh().sum(), backend='aot_eager'); h(w).backward(); seen(w.grad)\n"
        "j = torch.compile(lambda v: torch.func.grad(cube)(v).sum(), backend='aot_eager'); seen(j(x))\n"
        "import torch._dynamo.utils as u; seen(dict(u.counters['stats']), len(u.counters['graph_break']))"
    ),
    "compile a step": (
        "o = torch.optim.SGD(net.parameters(), 0.1)\n"
        "@torch.compile(backend='aot_eager')\ndef step(v):\n"
        "    loss = (net(v) ** 2).mean(); loss.backward(); o.step(); o.zero_grad(); return loss\n"
        "for _ in range(3): seen(step(x).item())"
    ),
    "compiled autograd": (
        "import torch._dynamo.compiled_autograd as ca\n"
        "with ca._enable(torch.compile(backend='eager')): loss = net(x).sum(); loss.backward()\n"
        "seen(net.head.weight.grad)"
    ),
    "func.grad": (
        "from torch.func import grad, grad_and_value, vmap\n"
        "seen(grad(cube)(x[0]), grad(grad(lambda t: t.sin() * t))(torch.tensor(2.0)), grad_and_value(cube)(w))\n"
        "h = lambda v: grad(lambda u: (u * w).sin().sum())(v).sum(); h(x[0]).backward(); seen(w.grad)\n"
        "seen(vmap(grad(cube))(x), grad(lambda v: vmap(cube)(v).sum())(x))\n"
        "with torch.no_grad(): seen(grad(cube)(w))"
    ),
    "func.vmap": (
        "from torch.func import vmap\n"
        "z = vmap(lambda v: (v * w).sum())(x); z.sum().backward(); seen(z, w.grad)\n"
        "seen(vmap(vmap(lambda a, b: a * b, (None, 0)), (0, None))(w, w), vmap(lambda v: v.topk(2)[1])(x))\n"
        "def inner(v):\n    made = torch.zeros(3); made = made + v; made[0] = v.max(); made.mul_(2); return made\n"
        "seen(vmap(inner)(x), vmap(lambda v: v + torch.rand(3), randomness='different')(x))\n"
        "seen(vmap(net)(x.unsqueeze(1)).sum().backward(), vmap(torch.linalg.det)(torch.rand(2, 3, 3)), w.grad)\n"
        "try: vmap(lambda v: v.item())(x[:, 0])\nexcept RuntimeError as e: print(e)\n"
        "try: vmap(lambda v: v.sum() if v.sum() > 0 else v)(x)\nexcept RuntimeError as e: print(type(e))"
    ),
    "func.jac": (
        "from torch.func import grad, hessian, jacfwd, jacrev\n"
        "def rows(v):\n    y = v * w\n    z = y.exp()\n    return z\n"
        "seen(hessian(cube)(x[0]), jacfwd(grad(cube))(x[0]), jacrev(jacrev(cube))(x[0]), jacrev(rows)(x[0]), jacfwd(rows)(x[0]))\n"
        "h = hessian(cube)(w); h.sum().backward(); seen(w.grad)\n"
        "from torch.autograd.functional import hessian as old, jacobian, vhp\n"
        "seen(old(cube, x[0]), jacobian(rows, x[0], vectorize=True), vhp(cube, x[0], x[1]))"
    ),
    "func.jvp": (
        "from torch.func import jvp, linearize, vjp, vmap\n"
        "seen(jvp(cube, (x[0],), (x[1],)), jvp(torch.tanh, (w,), (w,)))\n"
        "o, pull = vjp(torch.tanh, w); g, = pull(torch.ones(3)); g.sum().backward(); seen(g, w.grad)\n"
        "o, push = linearize(torch.sin, x[0]); seen(o, push(x[1]))\n"
        "seen(vmap(lambda t: jvp(cube, (x[0],), (t,))[1])(torch.eye(3)))"
    ),
    "func.functional_call": (
        "from torch.func import functional_call, grad, stack_module_state, vmap\n"
        "p = dict(net.named_parameters())\n"
        "def loss(p, a): return (functional_call(net, p, (a.unsqueeze(0),)) ** 2).mean()\n"
        "g = vmap(grad(loss), (None, 0))(p, x); seen({k: v.sum().item() for k, v in g.items()})\n"
        "q, b = stack_module_state([Net(), Net()])\n"
        "o = vmap(lambda q, b, a: functional_call(net, (q, b), (a,)), (0, 0, None))(q, b, x); o.sum().backward(); seen(o)\n"
        "adapted = {k: v - 0.1 * v.grad if v.grad is not None else v for k, v in p.items()}\n"
        "functional_call(net, adapted, (x,)).sum().backward(); seen(net.head.weight.grad)"
    ),
    "func.functionalize": (
        "from torch.func import functionalize\n"
        "def f(v):\n    y = v.clone(); y[0].mul_(2); y.add_(1); return y.view(-1)\n"
        "seen(functionalize(f)(x)); functionalize(f)(w).sum().backward(); seen(w.grad)"
    ),
    "Functions under transforms": (
        "from torch.func import grad, jacrev, vmap\n"
        "f = lambda a: Double.apply(a, a).sum()\n"
        "y = vmap(f)(x.clone().requires_grad_()).sum(); y.backward(); seen(y)\n"
        "seen(vmap(grad(f))(x), jacrev(f)(x[0]), grad(f)(w))\n"
        "seen(Double.apply(w, w), vmap(lambda a: Double.apply(a, w), 0)(x).sum().backward(), w.grad)\n"
        "class Ruled(Double):\n    generate_vmap_rule = False\n    @staticmethod\n    def vmap(info, dims, a, b): return a * b * 2, 0\n"
        "seen(vmap(lambda a: Ruled.apply(a, a))(x))\n"
        "try: grad(lambda v: Old.apply(v).sum())(w)\nexcept RuntimeError as e: print(e)"
    ),
    "forward AD": (
        "import torch.autograd.forward_ad as fwAD\n"
        "with fwAD.dual_level():\n"
        "    d = fwAD.make_dual(w, x[0]); out = (net(d.unsqueeze(0)) + d.sin().sum()).sum()\n"
        "    seen(fwAD.unpack_dual(out)); fwAD.unpack_dual(out).tangent.backward(); seen(w.grad)"
    ),
    "FakeTensorMode": (
        "from torch._subclasses.fake_tensor import FakeTensorMode\n"
        "with FakeTensorMode() as mode:\n"
        "    n = Net(); o = n(torch.rand(5, 3)); loss = o.sum(); loss.backward(); seen_ = n.head.weight.grad\n"
        "    print(o, loss, type(seen_), torch.zeros(2) + torch.rand(2))\n"
        "    s = torch.optim.SGD(n.parameters(), 0.1); s.step(); s.zero_grad()\n"
        "    y = mode.from_tensor(w); print((y * 2).sum(), Double.apply(y, y))\n"
        "del n, o, loss, y, seen_, s"
    ),
    "FakeTensors are left": (
        "from torch._subclasses.fake_tensor import FakeTensorMode\n"
        "with FakeTensorMode(): n = Net(); o = n(torch.rand(5, 3)); loss = o.sum()\nloss.backward(); print(n.head.weight.grad)"
    ),
    "meta": (
        "n = Net().to('meta'); o = n(torch.rand(5, 3, device='meta')); loss = o.sum(); loss.backward()\n"
        "print(o, n.head.weight.grad)\nwith torch.device('meta'): print(nn.Linear(2, 3)(torch.ones(1, 2)).sum())\n"
        "n.zero_grad(); n = n.to_empty(device='cpu'); [nn.init.ones_(p) for p in n.parameters()]"
    ),
    "inference_mode": (
        "with torch.inference_mode(): y = net(x); seen(y, y.is_inference(), (y * 2).clone().detach())\n"
        "z = y.clone() * w[0]; z.sum().backward(); seen(z)\n"
        "try: (y * w[0]).sum()\nexcept RuntimeError as e: print(e)\n"
        "@torch.inference_mode()\ndef f(v):\n    v = v + 1\n    return v.argmax(-1)\nseen(f(x))"
    ),
    "package": (
        "import copy, io, pickle; b = io.BytesIO()\n"
        "from torch.package import PackageExporter, PackageImporter\n"
        "with PackageExporter(b) as e: e.extern('**'); e.save_pickle('m', 'net.pkl', nn.Linear(3, 1).state_dict())\n"
        "b.seek(0); net.head.load_state_dict(PackageImporter(b).load_pickle('m', 'net.pkl')); train(net)\n"
        "train(copy.deepcopy(net)); seen(pickle.loads(pickle.dumps(w)) * 2)"
    ),
    "nested": (
        "n = torch.nested.nested_tensor([torch.ones(2, 3), torch.rand(3, 3)], layout=torch.jagged, requires_grad=True)\n"
        "y = n.sin() @ torch.ones(3, 2); y.values().sum().backward(); print(y.shape[0], n.grad.values())\n"
        "s = torch.nested.nested_tensor([torch.ones(2), torch.rand(3)]); print(torch.nested.to_padded_tensor(s * 2, 0.0))"
    ),
    "sparse": (
        "s = torch.eye(3).to_sparse().requires_grad_(); y = torch.sparse.mm(s, w.unsqueeze(1)); y.sum().backward()\n"
        "seen(s.grad, w.grad, (s * 2).coalesce().values())\n"
        "c = torch.eye(3).to_sparse_csr(); seen((c @ x.t()).sum(), torch.sparse.softmax(s, 1))\n"
        "e = nn.Embedding(5, 2, sparse=True); e(torch.tensor([1, 3])).sum().backward(); seen(e.weight.grad)"
    ),
    "quantized": (
        "q = torch.quantize_per_tensor(x, 0.1, 0, torch.quint8); seen(q, q.dequantize().sum(), q.int_repr().sum())\n"
        "d = torch.ao.quantization.quantize_dynamic(net, {nn.Linear}); seen(d(x))\n"
        "f = torch.fake_quantize_per_tensor_affine(w, 0.1, 0, -128, 127); f.sum().backward(); seen(w.grad)"
    ),
    "torch.library": (
        "@torch.library.custom_op('ours::sine', mutates_args=())\n"
        "def sine(v: torch.Tensor, n: int) -> torch.Tensor:\n    return torch.from_numpy(__import__('numpy').sin(v.detach().numpy())) * n\n"
        "sine.register_fake(lambda v, n: torch.empty_like(v))\n"
        "sine.register_autograd(lambda c, g: (g * c.saved_tensors[0].cos() * c.n, None),\n"
        "    setup_context=lambda ctx, inputs, output: (ctx.save_for_backward(inputs[0]), setattr(ctx, 'n', inputs[1])))\n"
        "sine(w, 2).sum().backward(); seen(w.grad)\n"
        "torch.compile(lambda v: sine(v * 2, 3).sum(), backend='aot_eager', fullgraph=True)(w).backward(); seen(w.grad)\n"
        "l = torch.library.Library('ours', 'FRAGMENT'); l.define('twice(Tensor x) -> Tensor')\n"
        "l.impl('twice', lambda v: v * 2, 'CompositeImplicitAutograd'); torch.ops.ours.twice(w).sum().backward(); seen(w.grad)\n"
        "l.define('twice.by(Tensor x, float by) -> Tensor'); l.impl('twice.by', lambda v, by: v * by, 'CompositeExplicitAutograd')\n"
        "seen(torch.ops.ours.twice(x), torch.ops.ours.twice(x, 3.0), torch.ops.ours.twice.by(x, 2.0))\n"
        "print(torch.library.opcheck(sine, (x.clone(), 2)))"
    ),
    "checkpoint": (
        "from torch.utils.checkpoint import checkpoint, checkpoint_sequential\n"
        "for reentrant in (True, False):\n"
        "    v = x.clone().requires_grad_()\n"
        "    y = checkpoint(lambda a: torch.dropout(net(a), 0.5, True), v, use_reentrant=reentrant); y.sum().backward(); seen(v.grad)\n"
        "    u = checkpoint_sequential(nn.Sequential(net.block, net.head), 2, v, use_reentrant=reentrant); u.sum().backward()\n"
        "c = torch.compile(lambda a: checkpoint(net, a, use_reentrant=False).sum(), backend='aot_eager'); c(x).backward()\n"
        "seen(net.head.weight.grad)"
    ),
    "DataParallel and workers": (
        "train(nn.DataParallel(net))\n"
        "from torch.utils.data import DataLoader, TensorDataset\n"
        "for each, in DataLoader(TensorDataset(x), batch_size=2, num_workers=2): net(each).sum().backward()\n"
        "seen(net.head.weight.grad)\n"
        "import torch.multiprocessing as mp\n"
        "def work(q, v): q.put((v * 2).sum().item())\n"
        "q = mp.get_context('fork').SimpleQueue(); p = mp.get_context('fork').Process(target=work, args=(q, x)); p.start(); p.join()\n"
        "seen(q.get())"
    ),
    "modes and subclasses": (
        "from torch.utils._python_dispatch import TorchDispatchMode\n"
        "class Count(TorchDispatchMode):\n    n = 0\n"
        "    def __torch_dispatch__(self, f, types, args=(), kwargs=None): Count.n += 1; return f(*args, **(kwargs or {}))\n"
        "with Count(): train(net); h = torch.func.vmap(lambda v: (v * w).sum())(x)\nseen(Count.n)\n"
        "class Wrapped(torch.Tensor):\n"
        "    @staticmethod\n    def __new__(cls, e): return torch.Tensor._make_wrapper_subclass(cls, e.shape, dtype=e.dtype, requires_grad=e.requires_grad)\n"
        "    def __init__(self, e): self.e = e\n"
        "    def __repr__(self): return f'W({self.e})'\n"
        "    @classmethod\n    def __torch_dispatch__(cls, f, types, args=(), kwargs=None):\n"
        "        un = lambda t: t.e if isinstance(t, Wrapped) else t\n"
        "        out = f(*torch.utils._pytree.tree_map(un, args), **torch.utils._pytree.tree_map(un, kwargs or {}))\n"
        "        return Wrapped(out) if isinstance(out, torch.Tensor) else out\n"
        "u = Wrapped(torch.ones(3)).requires_grad_(); y = (u * 2).exp(); y.sum().backward(); seen(y, u.grad)\n"
        "from torch.masked import masked_tensor; seen(masked_tensor(x[0], x[0] > 0.5) * 2)\n"
        "from torch.utils.flop_counter import FlopCounterMode\n"
        "with FlopCounterMode(display=False) as c: train(net)\nseen(c.get_total_flops())"
    ),
    "parametrized and hooked": (
        "from torch.nn.utils import parametrizations as p, prune\n"
        "n = nn.Sequential(p.spectral_norm(nn.Linear(3, 3)), p.weight_norm(nn.Linear(3, 1))); n(x).sum().backward()\n"
        "prune.l1_unstructured(net.head, 'weight', 0.5); train(net)\n"
        "seen(torch.nn.utils.stateless.functional_call(n[0], {'bias': w}, (x,)).sum().backward(), w.grad)\n"
        "from torch.nn.attention.flex_attention import flex_attention\n"
        "q = torch.rand(1, 1, 4, 16); seen(flex_attention(q, q, q, score_mod=lambda s, b, h, i, j: s + i - j).sum())"
    ),
    "control flow": (
        "from torch._higher_order_ops import cond, while_loop\n"
        "y = cond(x.sum() > 1, lambda a: a.sin(), lambda a: a.cos(), (w,)); y.sum().backward(); seen(y, w.grad)\n"
        "seen(while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * 2), (torch.tensor(0), x)))"
    ),
}  # fmt: skip

"""What PyTorch can be made to do in one script: run with and without recording, it must print the same."""
import gc
import random
import sys
import warnings
import weakref

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0); random.seed(0)
def seen(label, x): print(label, x)
# lifetimes
a = torch.ones(4, requires_grad=True)
b = a * 2
r = weakref.ref(b); n = weakref.ref(b * 3); del b
seen("dead", (r() is None, n() is None))
c = (a * 2).exp(); base = c._base; saved = weakref.ref(c.grad_fn._saved_result); loss = c.sum(); del c
loss.backward(); seen("saved", saved() is None)
# random streams
seen("rand", (torch.rand(3), F.dropout(torch.ones(5), 0.5), torch.randperm(5), random.random()))
# subclass construction
class T(torch.Tensor): pass
t = T([1., 2.]); p = nn.Parameter(torch.rand(2)); q = torch.rand(2).as_subclass(T); w = nn.Parameter(t)
seen("sub", (type(t), type(p), type(q), type(w), (q * 2).sum()))
class U(torch.Tensor):
    @classmethod
    def __torch_function__(cls, f, types, args=(), kwargs=None):
        print("tf", getattr(f, "__name__", f)); return super().__torch_function__(f, types, args, kwargs or {})
u = U([1., 2.]); v = (u * torch.ones(2, requires_grad=True)).sum(); v.backward()
# fast path
enc = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
with torch.no_grad(): seen("enc", enc(torch.rand(2, 3, 8)).sum().item().hex())
mha = nn.MultiheadAttention(8, 2, batch_first=True)
seen("mha", [x.grad_fn.name() if x.grad_fn else None for x in mha(torch.rand(1, 3, 8), torch.rand(1, 3, 8), torch.rand(1, 3, 8))])
seen("sdpa", F.scaled_dot_product_attention(*[torch.rand(1, 2, 3, 4, requires_grad=True) for _ in range(3)]).grad_fn.name())
# exceptions
for f in (lambda: a @ torch.ones(3), lambda: a[9], lambda: a.add_(1), lambda: torch.ones(2).view(3), lambda: loss.backward(), lambda: F.embedding(torch.tensor([9]), torch.ones(2, 2)), lambda: torch.tensor([1, 2]).sqrt_(), lambda: torch.cat([])):
    try: f()
    except Exception as e: print(type(e).__name__, e)
# warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    torch.ones(2, 3).T.T; torch.ones(2,3,4).T; F.mse_loss(torch.ones(2), torch.ones(1)); torch.norm(a)
    torch.nonzero(torch.ones(1)); F.softmax(torch.ones(2,2)); torch.arange(4).floor_divide(2)
    torch.tensor([1,2], dtype=torch.uint8)[torch.tensor([1,0],dtype=torch.uint8)]
    for each in caught: print(each.category.__name__, each.message, each.filename.split("/")[-1], each.lineno)
# custom functions, hooks, checkpoint
class Sq(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): ctx.save_for_backward(x); print("fw", torch.is_grad_enabled()); return x * x
    @staticmethod
    def backward(ctx, g): print("bw", torch.is_grad_enabled()); x, = ctx.saved_tensors; return 2 * x * g
y = Sq.apply(a); h = y.register_hook(lambda g: print("hook", g)); y.sum().backward()
seen("grad", a.grad)
from torch.utils.checkpoint import checkpoint

for reentrant in (True, False):
    lin = nn.Linear(4, 4); x = torch.rand(2, 4, requires_grad=True)
    checkpoint(lambda v: F.relu(lin(v)), x, use_reentrant=reentrant).sum().backward(); seen("ck", x.grad.sum().item().hex())
with torch.autograd.graph.saved_tensors_hooks(lambda x: (print("pack", tuple(x.shape)), x)[1], lambda x: (print("unpack"), x)[1]):
    z = (a * a).sum()
z.backward()
# modules with hooks
m = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.ReLU(), nn.LSTM(3, 2, batch_first=True))
m[0].register_forward_hook(lambda mod, i, o: print("fh", type(mod).__name__)); m[0].register_full_backward_hook(lambda mod, gi, go: print("bh", [g.shape if g is not None else None for g in gi]))
out, _ = m[:3](torch.rand(5, 4)), None; out.sum().backward(); seen("w", m[0].weight.grad.sum().item().hex())
# training
net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)); opt = torch.optim.Adam(net.parameters())
for i in range(40):
    l = F.mse_loss(net(torch.rand(8, 4)), torch.rand(8, 1)); opt.zero_grad(); l.backward(); opt.step()
seen("loss", (l.item().hex(), net[0].weight.sum().item().hex(), torch.rand(1)))
# func, vmap, autocast, sparse, complex, anomaly, inference, modes
seen("func", torch.func.grad(lambda v: (v ** 3).sum())(torch.ones(2)))
seen("hess", torch.func.hessian(lambda v: (v ** 3).sum())(torch.ones(2)))
seen("vmap", torch.vmap(lambda v: (v * a[:2]).sum())(torch.rand(3, 2)))
seen("jvp", torch.func.jvp(torch.sin, (torch.ones(2),), (torch.ones(2),)))
with torch.autocast("cpu", dtype=torch.bfloat16): seen("amp", (net(torch.ones(1, 4)).dtype, (a[:4] @ torch.ones(4)).dtype))
seen("sparse", (torch.ones(2, 2).to_sparse() @ torch.ones(2, 2, requires_grad=True)).sum())
s = torch.ones(2, 2).to_sparse().requires_grad_(); torch.sparse.sum(s * 2).backward(); seen("sg", s.grad)
seen("cplx", torch.fft.fft(torch.ones(4, requires_grad=True)).abs().sum())
with torch.inference_mode(): seen("inf", (a * 2).is_inference())
with torch.autograd.detect_anomaly(check_nan=False): (a * 2).sum().backward()
from torch.utils._python_dispatch import TorchDispatchMode


class M(TorchDispatchMode):
    def __torch_dispatch__(self, f, types, args=(), kwargs=None): print("mode", f); return f(*args, **(kwargs or {}))
with M(): (a * 2 + torch.ones(4)).sum().backward()
from torch.overrides import TorchFunctionMode


class N(TorchFunctionMode):
    def __torch_function__(self, f, types, args=(), kwargs=None): print("fmode", f.__name__); return f(*args, **(kwargs or {}))
with N(): (a * 2).sum()
seen("meta", torch.nn.Linear(3, 4, device="meta")(torch.ones(2, 3, device="meta")).shape)
seen("nested", torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged).sin().sum(dim=1).shape if hasattr(torch, "nested") else "")
j = torch.jit.trace(lambda v: v * 2 + 1, torch.ones(2)); seen("jit", j(a[:2]))
k = torch.rand(3, requires_grad=True); g, = torch.autograd.grad((k ** 3).sum(), k, create_graph=True); g.pow(2).sum().backward(); seen("dd", k.grad)
vw = torch.zeros(3, 2, requires_grad=True) * 1; vw[0].mul_(2).add_(1); vw[1] = 5; seen("view", (vw, vw.grad_fn.name(), vw[0].grad_fn.name())); vw.sum().backward()
import threading


def work(): q = torch.ones(2, requires_grad=True); (q * q).sum().backward(); print("thread", q.grad)
th = threading.Thread(target=work); th.start(); th.join()
from torch.utils.data import DataLoader, TensorDataset

seen("loader", [x[0].sum().item() for x in DataLoader(TensorDataset(torch.rand(6, 2)), batch_size=2, num_workers=2)])
warnings.simplefilter("ignore"); qm = torch.ao.quantization.quantize_dynamic(nn.Sequential(nn.Linear(4, 4)), {nn.Linear}); seen("q", qm(torch.ones(1, 4)).shape)
import io; file = io.BytesIO(); torch.save(net.state_dict(), file); file.seek(0); seen("load", list(torch.load(file)))
import copy; import pickle; copy.deepcopy(net)(torch.ones(1, 4)); pickle.loads(pickle.dumps(a))
print(torch.nn.Module.__call__ is torch.nn.Module._wrapped_call_impl, getattr(Sq.apply, "__func__", 0) is getattr(torch.autograd.Function.apply, "__func__", 0))
del loss, y, z, l, out; gc.collect(); print("end")
sys.exit(3)

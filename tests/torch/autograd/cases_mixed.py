"""Programs that mix dtypes, views, hooks and what has no gradient, as random ones beside PyTorch were: each line is run, and its
last expression shown."""

from tests.torch.autograd.behaviours import CASES, made

PROGRAMS = """
v = torch.addcmul(torch.ones(3), m[0], x, value=3); v.sum().backward(); x.grad
v = torch.addcmul(torch.ones(2, 3), m, z, value=2); v.sum().backward(); z.grad
v = torch.addcmul(torch.ones(3), i, x, value=0.5); v.sum().backward(); x.grad
v = torch.addcmul(x, i, i, value=2); v.sum().backward(); x.grad
v = torch.addcdiv(torch.ones(3), m[0], x, value=3); v.sum().backward(); x.grad
(m * 3 * x).sum().backward(); x.grad
torch.autograd.grad(z, x, allow_unused=True, create_graph=True, materialize_grads=True)
torch.autograd.grad(z * 2, (x, z), materialize_grads=True)
torch.autograd.grad(z * z, (x, z), materialize_grads=True, create_graph=True)
i.masked_fill(m, z)
i.masked_fill(m, z.detach())
i.index_fill(0, i[:1], z)
x.masked_fill(m, z)
torch.fill(i, z)
v = i.float(); v.index_fill_(0, i[:1], z); v
x.bernoulli(0.0)
x.bernoulli(0.0).sum().backward()
x.sigmoid().bernoulli().requires_grad
torch.bincount(i, weights=x)
torch.bincount(i, weights=x).sum().backward()
torch.bincount(i, weights=x.detach())
v = (x * 2).sort()[0]; v.grad_fn.register_prehook(lambda g: (len(seen), g[0] * 3)[1:]); v.sum().backward(); x.grad
v = (x * 2).sort()[0]; v.grad_fn.register_prehook(lambda g: seen.append(len(g))); v.sum().backward(); seen
v = (x * 2).sort()[0]; v.grad_fn.register_hook(lambda a, b: seen.append((len(a), len(b)))); v.sum().backward(); seen
v = (x * 2).max(0)[0]; v.grad_fn.register_hook(lambda a, b: seen.append((len(a), len(b)))); v.sum().backward(); seen
v = (x * 2).topk(2)[0]; v.grad_fn.register_prehook(lambda g: seen.append(len(g))); v.sum().backward(); seen
v = (x * 2).cummax(0)[0]; v.grad_fn.register_prehook(lambda g: seen.append(len(g))); v.sum().backward(); seen
v = (x * 2).unbind(); v[0].grad_fn.register_prehook(lambda g: seen.append(len(g))); v[0].backward(); seen
v = (x * 2).unbind(); v[0].grad_fn.register_prehook(lambda g: (g[0] * 3,)); v[0].backward()
v = (x * 2).split(1); v[1].grad_fn.register_hook(lambda a, b: seen.append(len(b))); v[1].sum().backward(); seen
v = Two.apply(x)[0]; v.grad_fn.register_prehook(lambda g: seen.append(len(g))); v.sum().backward(); seen
v = F.batch_norm(X, None, None, training=True); len(v.grad_fn._input_metadata), len(v.grad_fn.next_functions)
v = F.batch_norm(X, None, None, training=True); v.grad_fn.register_prehook(lambda g: (g[0] * 3,)); v.sum().backward()
len(F.layer_norm(x, (3,)).grad_fn._input_metadata), len(torch.linalg.lu(X[:, :2])[1].grad_fn._input_metadata)
Saves.apply(2, True)
Saves.apply(x.detach(), True)
Saves.apply(x, True)
F.dropout(i, p=1.0), F.dropout(m, p=1.0), F.dropout(i, p=0.0), F.dropout(i, 0.5, training=False)
F.dropout(i, p=0.5)
torch.nn.Dropout(1.0)(i)
i.addr(i, i, beta=0.5)
i.addr(i, i, alpha=0.5)
torch.ones(3, 3).long().addr_(i, i, beta=0.5)
i.addr(i, i, beta=2, alpha=3)
i.addr(x.detach(), i, beta=0.5)
(X + b).stride(), (b + X).stride(), (X * X.double()).stride(), (X.double() + 1).stride(), (X + X).stride()
(x[:, None].expand(3, 2) + b[:, None]).stride(), (X.t() + b[:, None]).stride(), torch.where(m, X, b).stride()
X.t().abs().add(2).mvlgamma(1).stride(), X.t().add(2).bernoulli(0.0).stride(), X.t().sin().stride()
(X.half() * X).stride(), (i.expand(2, 3) + X).stride(), (m * X).stride(), (X ** i).stride(), (X < b).stride()
v = torch.ones(3); v.expand(3, 3).tril_(); v
v = torch.ones(3); v.expand(3, 3).triu_(); v
v = torch.ones(2, 1); v.expand(2, 3).tril_(-1); v
v = torch.zeros(3); torch.nn.init.eye_(v.expand(2, 3)); v
v = torch.zeros(2, 1); torch.nn.init.eye_(v.expand(2, 3)); v
v = torch.ones(2, 3); torch.nn.init.eye_(v); v
""".strip().split("\n")


def _scope(torch):
    x = torch.tensor([1.0, -2.0, 3.0], requires_grad=True)
    return {
        "torch": torch,
        "F": torch.nn.functional,
        "seen": [],
        "x": x,
        "X": x.expand(2, 3),
        "z": torch.tensor(0.7, requires_grad=True),
        "b": torch.tensor([0.3, -0.6, 1.2], dtype=torch.float64, requires_grad=True),
        "i": torch.tensor([2, 0, 1]),
        "m": torch.tensor([[True, False, True], [False, False, True]]),
        "Two": made(torch, lambda ctx, a: (a * 2, a > 0), lambda ctx, g, _: g * 2),
        "Saves": made(torch, lambda ctx, a, b: ctx.save_for_backward(a, b) or a * 2, lambda ctx, g: (g * 2, None)),
    }


def _run(torch, program):
    scope = _scope(torch)
    *statements, last = program.split("; ")
    for statement in statements:
        exec(statement, scope)
    return eval(last, scope)


for _program in PROGRAMS:
    CASES[f"mixed {_program}"] = lambda torch, program=_program: _run(torch, program)

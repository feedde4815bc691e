"""Forward mode and the functions of `torch.func`, case by case: flags, nodes, errors, changes in place."""

import warnings

from tests.torch.autograd.behaviours import case, err, graph, leaf, made
from tests.torch.core.player import graph as dated_graph


def pair(torch):
    return torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.0, 0.0, 2.0])


def followed(torch, f, *more):
    """Return what `f` makes of a dual tensor, unpacked."""
    forward = torch.autograd.forward_ad
    x, t = pair(torch)
    with forward.dual_level():
        out = f(forward.make_dual(x, t), *more)
        return [tuple(forward.unpack_dual(y)) for y in (out if isinstance(out, (tuple, list)) else (out,))]


@case
def forward_needs_a_level(torch):
    forward = torch.autograd.forward_ad
    x, t = pair(torch)
    return err(lambda: forward.make_dual(x, t)), forward.unpack_dual(x), err(forward.exit_dual_level)


@case
def forward_levels(torch):
    forward = torch.autograd.forward_ad
    x, t = pair(torch)
    with forward.dual_level() as level:
        d = forward.make_dual(x, t)
        found = [
            level,
            err(lambda: forward.dual_level().__enter__()),
            err(forward.enter_dual_level),
            err(lambda: forward.make_dual(x, t, level=3)),
            err(lambda: forward.unpack_dual(d, level=3)),
            err(lambda: forward.make_dual(d, t)),
            err(lambda: forward.exit_dual_level(level=2)),
        ]
    return found, forward.unpack_dual(d), forward.enter_dual_level(), forward.exit_dual_level()


@case
def forward_wrong_pairs(torch):
    forward = torch.autograd.forward_ad
    x, t = pair(torch)
    with forward.dual_level():
        return [err(lambda p=p: forward.make_dual(*p)) for p in ((x.int(), t), (x, t.int()), (x, t[:2]))]


@case
def forward_prints(torch):
    forward = torch.autograd.forward_ad
    x, t = pair(torch)
    with forward.dual_level():
        d = forward.make_dual(x, t)
        return str(d), str(d.sum()), f"{d.sum():.2f}", str(forward.make_dual(leaf(torch), t).sin())


@case
def forward_flags(torch):
    forward = torch.autograd.forward_ad
    x, t = pair(torch)
    with forward.dual_level():
        d, w = forward.make_dual(x, t), forward.make_dual(leaf(torch), t)
        y = w * d
        return [
            d.is_leaf,
            d.requires_grad,
            w.is_leaf,
            w.requires_grad,
            y.requires_grad,
            forward.unpack_dual(y).tangent.requires_grad,
            d.tolist(),
            d[1].item(),
            isinstance(d, torch.Tensor),
            forward.unpack_dual(d).tangent is t,
        ]


@case
def forward_leaves_behind(torch):
    return [
        followed(torch, f)
        for f in (lambda d: d.detach(), lambda d: d.data, lambda d: d > 1, lambda d: d.long(), lambda d: d.clone())
    ]


@case
def forward_without_grad(torch):
    def f(d):
        with torch.no_grad():
            a = d * 2
        with torch.autograd.forward_ad._set_fwd_grad_enabled(False):
            b = d * 2
        return a, b

    return followed(torch, f)


@case
def forward_types(torch):
    return [
        followed(torch, f)
        for f in (
            lambda d: d.double(),
            lambda d: d * torch.ones(3, dtype=torch.float64),
            lambda d: d + 1j,
            lambda d: d * 2j,
            lambda d: d.half().float(),
        )
    ]


@case
def forward_broadcasts(torch):
    return [
        followed(torch, f)
        for f in (
            lambda d: d + torch.zeros(2, 3),
            lambda d: torch.where(d > 1, d, torch.zeros(2, 1)),
            lambda d: d.expand(2, 3),
            lambda d: torch.maximum(d, torch.full((2, 1), 1.5)),
            lambda d: d[:, None] ** d,
        )
    ]


@case
def forward_out_is_refused(torch):
    return followed(torch, lambda d: torch.tensor(0.0)), [
        followed(
            torch,
            lambda d: [torch.tensor(float("NotImplementedError" in err(lambda: torch.sin(d, out=torch.empty(3)))))],
        )
    ]


@case
def forward_unsupported(torch):
    forward = torch.autograd.forward_ad
    x, t = pair(torch)
    with forward.dual_level():
        d = forward.make_dual(x, t)
        return [
            err(f)
            for f in (
                lambda: torch.heaviside(d, d),
                lambda: torch.igamma(d, d),
                lambda: d // 2,
                lambda: torch.cdist(d[None], d[None]),
            )
        ]


def changed(f):
    """A case of a function that changes things in place; `f(d, zeros)` returns the tensors to look at."""

    def run(torch):
        return followed(torch, lambda d: f(torch, d))

    run.__name__ = f.__name__
    return case(run)


@changed
def forward_in_place_itself(torch, d):
    d = d.clone()
    d.mul_(d + 1).add_(1)
    d += d.sin()
    return d


@changed
def forward_in_place_plain(torch, d):
    a, b, c = torch.zeros(3), torch.ones(3), torch.ones(2, 3)
    a.copy_(d)
    b.mul_(d)
    c.add_(d)
    return a, b, c


@changed
def forward_in_place_part(torch, d):
    a = torch.zeros(3)
    a[1:] = d[:2] * 2
    a[0] += d.sum()
    return a


@changed
def forward_in_place_view_before(torch, d):
    a = torch.zeros(3)
    v, w = a.view(3, 1), a[1:]
    a.add_(d)
    w.mul_(2)
    return a, v, w, v * 3


@changed
def forward_in_place_view_of_view(torch, d):
    a = torch.zeros(2, 3)
    v = a.t()
    v[1:].copy_(d[1:, None].expand(2, 2))
    a[0].mul_(d)
    return a, v, a.sum(0), v.reshape(-1)


@changed
def forward_in_place_view_of_dual(torch, d):
    d = d.clone()
    d[1:].mul_(d[:2])
    d.view(3, 1)[0].zero_()
    d[-1] = 5.0
    return d


@changed
def forward_in_place_constant(torch, d):
    a, b, c, e = d.clone(), d.clone(), d.clone(), d.clone()
    return a.zero_(), b.fill_(2.0), c.copy_(torch.ones(3)), e.masked_fill_(e > 1.5, 0.0)


@changed
def forward_in_place_indexed(torch, d):
    a, b = torch.zeros(4), d.clone()
    a[torch.tensor([0, 2, 2])] = d
    b.index_add_(0, torch.tensor([1, 1]), d[1:])
    c = torch.zeros(3).index_put_((torch.tensor([0, 0, 1]),), d, accumulate=True)
    return b, c, a[:1]


@changed
def forward_in_place_shape(torch, d):
    a, b = d.clone(), d.clone().view(1, 3)
    return a.unsqueeze_(0), b.squeeze_(), d.clone().view(1, 3).t_()


@changed
def forward_views(torch, d):
    m = torch.stack([d, d * 2])
    return (
        m.t(),
        m.t().reshape(-1),
        m[:, 1:],
        m.unsqueeze(0).squeeze(),
        m.diagonal(),
        m.view(-1)[::2],
        m.as_strided((2, 2), (1, 2)),
        *m.unbind(1),
        *m.split(2, 1),
    )


@changed
def forward_strided(torch, d):
    m = torch.stack([d, d * 2]).t()
    return (
        (m * 2).t().view(-1),
        m.exp().t().view(6),
        m.contiguous().view(-1),
        m.expand(2, 3, 2).reshape(-1),
        d.expand(2, 3)[:, 1:],
    )


@changed
def forward_chooses(torch, d):
    return (
        d.max(),
        d.min(0).values,
        d.sort(descending=True).values,
        d.topk(2).values,
        d.median(),
        d[torch.tensor([2, 0])],
        d[d > 1.5],
        d.gather(0, torch.tensor([1, 1])),
    )


@case
def forward_accumulates_no_tangent(torch):
    forward = torch.autograd.forward_ad
    x = leaf(torch)
    with forward.dual_level():
        (forward.make_dual(x, torch.ones(3)) ** 3).sum().backward()
        return x.grad, forward.unpack_dual(x.grad).tangent


@case
def forward_graphs(torch):
    """The nodes that tangents leave where the primal requires a gradient."""
    forward = torch.autograd.forward_ad
    found = []
    for f in (
        torch.sin,
        torch.exp,
        torch.relu,
        torch.neg,
        torch.tanh,
        torch.sigmoid,
        lambda x: x * x,
        lambda x: x @ x,
        lambda x: x[None] @ x[:, None],
        lambda x: x**3,
        lambda x: x.exp() * x,
        lambda x: x / x,
        lambda x: x.softmax(0),
        lambda x: x.log_softmax(0),
        lambda x: x.sum(),
        lambda x: x.view(3, 1),
        lambda x: x.t(),
        lambda x: x.mean(),
        lambda x: x.clone(),
        lambda x: x[1:],
    ):
        with forward.dual_level():
            found.append(graph(forward.unpack_dual(f(forward.make_dual(leaf(torch), torch.ones(3)))).tangent))
    return found


@case
def forward_tangent_requires_grad(torch):
    forward = torch.autograd.forward_ad
    x, _ = pair(torch)
    t = leaf(torch)
    with forward.dual_level():
        y = forward.unpack_dual(forward.make_dual(x, t).sin().sum()).tangent
    y.backward()
    return y, t.grad


@case
def forward_function_without_jvp(torch):
    F = made(torch, lambda ctx, x: x * 2, lambda ctx, g: g * 2)
    return err(lambda: followed(torch, F.apply))


@case
def forward_function(torch):
    seen = []

    def forward(ctx, x, y, k):
        ctx.save_for_forward(x, y)
        return x * y * k, x + 1

    def jvp(ctx, *tangents):
        seen.append(tangents)
        x, y = ctx.saved_tensors
        return (tangents[0] * y + tangents[1] * x) * 3, tangents[0]

    F = made(torch, forward, lambda ctx, g, h: (g, g, None), jvp=jvp)
    return followed(torch, F.apply, torch.ones(3), 3), seen


@case
def forward_function_none_tangents(torch):
    seen = []

    def forward(ctx, x, y):
        ctx.set_materialize_grads(False)
        return x * y

    F = made(torch, forward, lambda ctx, g: (g, g), jvp=lambda ctx, *ts: (seen.append(ts), ts[0])[1])
    return followed(torch, F.apply, torch.ones(3)), seen


@case
def forward_function_wrong_jvp(torch):
    found = []
    for jvp in (lambda ctx, t: (t, t), lambda ctx, t: t[:2], lambda ctx, t: 1.0):
        F = made(torch, lambda ctx, x: x * 2, lambda ctx, g: g, jvp=jvp)
        found.append(err(lambda F=F: followed(torch, F.apply)))
    return found


@case
def forward_function_not_differentiable(torch):
    def forward(ctx, x):
        y = x > 1
        ctx.mark_non_differentiable(y)
        return x * 2, y

    return [
        err(lambda jvp=jvp: followed(torch, made(torch, forward, lambda ctx, g, _: g, jvp=jvp).apply))
        for jvp in (lambda ctx, t: (t * 2, None), lambda ctx, t: (t * 2, t))
    ]


@case
def forward_function_dirty(torch):
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    def run(jvp):
        return followed(torch, lambda d: made(torch, forward, lambda ctx, g: g, jvp=jvp).apply(d.clone()))

    return [err(lambda jvp=jvp: run(jvp)) for jvp in (lambda ctx, t: t.mul_(2), lambda ctx, t: t * 2)]


@case
def forward_function_view(torch):
    def run(jvp):
        return followed(torch, made(torch, lambda ctx, x: x.view(3, 1), lambda ctx, g: g.view(3), jvp=jvp).apply)

    return [err(lambda jvp=jvp: run(jvp)) for jvp in (lambda ctx, t: t.view(3, 1), lambda ctx, t: t.view(3, 1) * 1)]


# ---------------------------------------------------------------- torch.func


@case
def func_grad_refuses(torch):
    g, (x, _) = torch.func.grad, pair(torch)
    return [
        err(f)
        for f in (
            lambda: g(torch.sin)(x),
            lambda: g(lambda x: 3.0)(x),
            lambda: g(lambda x: (x.sum(), 1))(x),
            lambda: g(lambda x: x.sum(), has_aux=True)(x),
            lambda: g(lambda x: x.sum(), argnums=2)(x),
            lambda: g(lambda x: x.sum(), argnums=())(x),
            lambda: g(lambda x, y: x.sum(), argnums=(0, 0))(x, x),
            lambda: g(lambda x: x.sum(), argnums="a")(x),
            lambda: g(lambda x: x.sum())(3),
            lambda: g(lambda x: x.sum())(x.int()),
            lambda: g(lambda x: (x * 1j).sum())(x),
        )
    ]


@case
def func_grad_arguments(torch):
    g, (x, t) = torch.func.grad, pair(torch)
    f = lambda x, y, k=2: (x * y * k).sum()  # noqa: E731
    return [
        g(f)(x, t),
        g(f, argnums=1)(x, t),
        g(f, argnums=(1, 0))(x, t),
        g(f, argnums=-1)(x, t),
        g(f)(x, t, k=5),
        g(f, argnums=1)(x, x * 0),
        g(lambda d: (d["a"] * d["b"][0]).sum())({"a": x, "b": [t]}),
        g(lambda x: (x.sum(), {"y": x * 2}), has_aux=True)(x),
        torch.func.grad_and_value(f)(x, t),
        torch.func.grad_and_value(lambda x: (x.sum(), x), has_aux=True)(x),
        g(lambda x: t.sum())(x),
    ]


@case
def func_grad_modes(torch):
    x, _ = pair(torch)
    with torch.no_grad():
        a = torch.func.grad(lambda x: (x * x).sum())(x)
        b = torch.func.grad(lambda x: (x * x).sum())(leaf(torch))
    c = torch.func.grad(lambda x: (x * x).sum())(leaf(torch))
    w = leaf(torch)
    d = torch.func.grad(lambda x: (x * w).sum())(x)
    return (
        a,
        b,
        c.requires_grad,
        d.requires_grad,
        torch.func.vjp(lambda x: x * x, x)[0],
        torch.func.vjp(lambda x: x * w, x)[0].requires_grad,
    )


@case
def func_vjp_refuses(torch):
    v, (x, _) = torch.func.vjp, pair(torch)
    return [
        err(f)
        for f in (
            lambda: v(torch.sin, x)[1](x[:2]),
            lambda: v(lambda x: {"a": x * 2, "b": x}, x)[1](x),
            lambda: v(torch.sin, 3.0),
            lambda: v(lambda x: 3.0, x),
            lambda: v(lambda x: x, x, has_aux=True),
            lambda: v(lambda x: (), x),
        )
    ]


@case
def func_jvp_refuses(torch):
    j, (x, t) = torch.func.jvp, pair(torch)
    return [
        err(f)
        for f in (
            lambda: j(torch.sin, x, t),
            lambda: j(torch.sin, (x,), t),
            lambda: j(torch.sin, (x,), (t[:2],)),
            lambda: j(torch.sin, (), ()),
            lambda: j(torch.sin, (1.0,), (t,)),
            lambda: j(torch.sin, (x,), (1.0,)),
            lambda: j(lambda x: 3.0, (x,), (t,)),
            lambda: j(lambda x: x, (x,), (t,), has_aux=True),
            lambda: j(lambda x: torch.ones(2), (x,), (t,), strict=True),
            lambda: j(torch.sin, (x.int(),), (t.int(),)),
            lambda: j(torch.sin, (x,), (t.int(),)),
        )
    ]


@case
def func_jvp_results(torch):
    j, (x, t) = torch.func.jvp, pair(torch)
    return [
        j(torch.sin, (x,), (t,)),
        j(lambda x: torch.ones(2), (x,), (t,)),
        j(lambda x: (x, x * 2), (x,), (t,), has_aux=True),
        j(lambda d, y: {"p": d["a"] * y, "s": (y, 2 * y)}, ({"a": x}, x), ({"a": t}, t)),
        j(lambda x: x * x, (leaf(torch),), (t,))[1].requires_grad,
    ]


@case
def func_jacobians_refuse(torch):
    f, (x, _) = torch.func, pair(torch)
    return [
        err(g)
        for g in (
            lambda: f.jacrev(lambda x: 3.0)(x),
            lambda: f.jacrev(torch.sin, chunk_size=0),
            lambda: f.jacrev(torch.sin)(3.0),
            lambda: f.jacrev(lambda x: x, has_aux=True)(x),
            lambda: f.jacfwd(lambda x: x, has_aux=True)(x),
            lambda: f.jacfwd(lambda x: 3.0)(x),
            lambda: f.jacfwd(lambda x: x, randomness="foo")(x),
            lambda: f.jacrev(lambda z: z * z)(x + 1j),
            lambda: f.jacfwd(lambda z: z * z)(x + 1j),
            lambda: f.jacfwd(lambda z: z * 1j)(x),
            lambda: f.jacrev(lambda z: z * 1j)(x),
            lambda: f.jacrev(torch.sin)(x.int()),
            lambda: f.jacfwd(torch.sin)(x.int()),
            lambda: f.jacfwd(lambda x: x * torch.rand(3))(x),
        )
    ]


@case
def func_jacobians_of_trees(torch):
    f, (x, t) = torch.func, pair(torch)
    g = lambda d: {"s": d["a"] * 2, "t": d["b"].sum()}  # noqa: E731
    h = lambda x, y: (x * y, x.sum())  # noqa: E731
    return [j(g)({"a": x, "b": t}) for j in (f.jacrev, f.jacfwd)] + [
        j(h, argnums=n)(x, t) for j in (f.jacrev, f.jacfwd) for n in ((0,), (0, 1), 1)
    ]


@case
def func_jacobians_aux(torch):
    f, (x, _) = torch.func, pair(torch)
    return [j(lambda x: (x * x, {"y": x * 2}), has_aux=True)(x) for j in (f.jacrev, f.jacfwd)] + [
        f.jacrev(torch.sin)(x[0]),
        f.jacfwd(torch.sin)(x[0]),
    ]


@case
def func_linearize_refuses(torch):
    x, _ = pair(torch)
    _, push = torch.func.linearize(torch.sin, x)
    return err(lambda: push(x[:2])), err(lambda: push(x, x))[:40]


@case
def func_stack_module_state(torch):
    s, n = torch.func.stack_module_state, torch.nn
    models = [n.BatchNorm1d(2) for _ in range(3)]
    parameters, buffers = s(models)
    models[0].eval()
    return [
        {k: (list(v.shape), v.requires_grad, v.is_leaf) for k, v in found.items()} for found in (parameters, buffers)
    ], [err(lambda: s(models)), err(lambda: s([])), err(lambda: s([n.Linear(2, 2), n.ReLU()]))]


@case
def func_replace_batch_norms(torch):
    model = torch.nn.Sequential(torch.nn.BatchNorm1d(2), torch.nn.Linear(2, 2))
    found = torch.func.replace_all_batch_norm_modules_(model)
    return found is model, model[0].track_running_stats, model[0].running_mean, model[0].num_batches_tracked


@case
def functional_strategies(torch):
    g, (x, _) = torch.autograd.functional, pair(torch)
    f = lambda x: x**2  # noqa: E731
    return (
        [
            err(lambda options=options: g.jacobian(f, x, **options))
            for options in (
                {"vectorize": True},
                {"vectorize": True, "strategy": "forward-mode"},
                {"strategy": "forward-mode"},
                {"vectorize": True, "strict": True},
                {"vectorize": True, "strict": True, "strategy": "forward-mode"},
                {"vectorize": True, "create_graph": True, "strategy": "forward-mode"},
                {"vectorize": True, "strategy": "foo"},
            )
        ],
        g.jacobian(lambda x: torch.ones(2), x, vectorize=True),
        g.hessian(lambda x: (x**3).sum(), x, vectorize=True),
    )


@case
def functional_strategies_of_tuples(torch):
    g, (x, t) = torch.autograd.functional, pair(torch)
    f = lambda x, y: (x * y, x.sum())  # noqa: E731
    return g.jacobian(f, (x, t), vectorize=True), g.jacobian(f, (x, t), vectorize=True, strategy="forward-mode")


@case
def forward_copies(torch):
    import copy

    return followed(torch, copy.deepcopy), followed(torch, lambda d: torch.nn.Parameter(d) * 2)[0][0].requires_grad


@case
def forward_in_inference_mode(torch):
    with torch.inference_mode():
        return followed(torch, lambda d: (d * 1).softmax(0))


@case
def nodes_of_derivatives_of_functions(torch):
    functional, func = torch.autograd.functional, torch.func
    x = torch.tensor([0.3, 0.5], requires_grad=True)
    cube = lambda t: (t**3).sum()  # noqa: E731
    found = [
        functional.vjp(torch.sin, x, x, create_graph=True)[1],
        functional.vjp(torch.sin, x, x * 2, create_graph=True)[1],
        functional.jvp(torch.sin, x, x, create_graph=True)[1],
        functional.vhp(cube, x, x, create_graph=True)[1],
        functional.hvp(cube, x, x, create_graph=True)[1],
        functional.jacobian(torch.sin, x, create_graph=True),
        functional.hessian(cube, x, create_graph=True),
        *func.jvp(torch.sin, (x,), (x,)),
        *func.jvp(torch.sin, (x * 1,), (x * 2,)),
        func.jacfwd(torch.sin)(x),
    ]
    return [(y, dated_graph([y.grad_fn])) for y in found]


@case
def a_view_without_a_history_is_printed(torch):
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True) * 2
    with torch.no_grad():
        rows = [row.mul_(2) for row in x.split(1)]
    return str(rows), err(lambda: rows[0].grad_fn), err(lambda: rows[0] * 2)


@case
def what_the_tangent_of_a_product_records_and_in_which_order(torch):
    x, t, c = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.0, 0.0, 2.0]), torch.tensor([2.0, 3.0, 4.0])
    m, other = torch.ones(3, 3), leaf(torch, 2.0, 3.0, 4.0)
    functions = [
        lambda a: a * c,
        lambda a: c * a,
        lambda a: a * 2,
        lambda a: a * other,
        lambda a: other * a,
        lambda a: a.sin() * a,
        lambda a: a @ m,
        lambda a: m @ a,
        lambda a: m.mv(a),
        lambda a: m @ (a[:, None] @ a[None]),
        lambda a: a[None, :, None] @ a[None, None],
        lambda a: a.dot(a.sin()),
        lambda a: torch.outer(a, a.sin()),
        lambda a: torch.hypot(a, a.sin()),
        lambda a: a ** a.sin(),
        lambda a: (a * torch.tensor([float("inf"), float("nan"), 1.0])).sum(),
    ]
    found = [torch.func.jvp(f, (leaf(torch, *x.tolist()),), (t,))[1] for f in functions]
    found += [torch.func.jacfwd(lambda a, f=f: a * f(a).sum())(leaf(torch, *x.tolist())) for f in functions[:6]]
    return [(y, dated_graph([y.grad_fn])) for y in found]


@case
def nodes_of_squeezing_examples(torch):
    x = torch.ones(3, 1, 2, 1, requires_grad=True)
    functions = [
        lambda a: a.squeeze(0),
        lambda a: a.squeeze(1),
        lambda a: a.squeeze(),
        lambda a: a.squeeze((0, 2)),
        lambda a: a.unsqueeze(0),
    ]
    found = [torch.func.vmap(f)(x) for f in functions]
    w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    found.append(torch.func.jacrev(lambda a: a * (a[:, None] @ a[None]).tanh().sum())(w))
    return [(y, dated_graph([y.grad_fn])) for y in found]


@case
def writes_into_expanded_tensors(torch):
    index, mask = torch.tensor([0, 1]), torch.tensor([True, False])
    changes = [
        lambda e: e.masked_fill_(mask, 1),
        lambda e: e.masked_fill_(mask, torch.tensor(1.0)),
        lambda e: e.index_put_((index,), torch.tensor(1.0)),
        lambda e: e.__setitem__(index, 1.0),
        lambda e: e.index_fill_(0, index, 1.0),
        lambda e: e.index_fill_(0, index, torch.tensor(1.0)),
        lambda e: e.index_copy_(0, index, torch.ones(2, 2)),
        lambda e: e.index_add_(0, index, torch.ones(2, 2)),
        lambda e: e.zero_(),
        lambda e: e.fill_(1.0),
    ]
    found = []
    for change in changes:
        e = torch.zeros(1, 2).expand(3, 2)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            got = err(lambda change=change, e=e: change(e))
        found.append((got, e, [str(w.message).partition(" (Triggered")[0] for w in told]))
    return found

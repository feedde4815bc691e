"""Saved tensors, the arguments of `backward` and `grad`, inference mode, threads, checkpoints."""

# ruff: noqa: E741, F841, SIM117
import hashlib
import threading
import warnings

from tests.torch.autograd.behaviours import case, checkpointing, err, graph, leaf, made


@case
def engine_hooks_nested(torch):
    log = []
    G = torch.autograd.graph
    x = leaf(torch)
    with G.saved_tensors_hooks(lambda t: (log.append("p1"), t)[1], lambda t: (log.append("u1"), t)[1]):
        with G.saved_tensors_hooks(lambda t: (log.append("p2"), t)[1], lambda t: (log.append("u2"), t)[1]):
            y = x * x
        z = y.exp()
    z.sum().backward()
    return log, x.grad


@case
def engine_hooks_disabled(torch):
    G = torch.autograd.graph
    x = leaf(torch)

    def f():
        with G.disable_saved_tensors_hooks("no hooks"), G.saved_tensors_hooks(lambda t: t, lambda t: t):
            return x * x

    def g():
        with G.saved_tensors_hooks(lambda t: t, lambda t: t), G.disable_saved_tensors_hooks("no hooks"):
            return x * x

    return err(f), err(g)


@case
def engine_hooks_pack_error(torch):
    G = torch.autograd.graph
    x = leaf(torch)

    def boom(t):
        raise ValueError("pack")

    def f():
        with G.saved_tensors_hooks(boom, lambda t: t):
            return x * x

    return err(f), (x * 2).sum()


@case
def engine_hooks_unpack_bad(torch):
    G = torch.autograd.graph
    x = leaf(torch)
    with G.saved_tensors_hooks(lambda t: t, lambda t: "s"):
        y = x * x
    return err(lambda: y.sum().backward())


@case
def engine_hooks_unpack_int(torch):
    G = torch.autograd.graph
    x = leaf(torch)
    with G.saved_tensors_hooks(lambda t: 3, lambda i: torch.full((3,), 7.0)):
        y = x * x
    return y.grad_fn._saved_self, err(lambda: y.sum().backward()), x.grad


@case
def engine_hooks_inplace_pack(torch):
    G = torch.autograd.graph
    x = leaf(torch)

    def p(t):
        t += 1
        return t

    def f():
        with G.saved_tensors_hooks(p, lambda i: i):
            return (x * 1) ** 2

    return err(f)


@case
def engine_hooks_pack_sees(torch):
    log = []
    G = torch.autograd.graph
    x = leaf(torch)
    h = x * 2
    with G.saved_tensors_hooks(
        lambda t: (log.append((t is x, t is h, t.requires_grad, t.is_leaf, t._version)), t)[1], lambda t: t
    ):
        a = x * x
        b = h * h
        c = h.exp()
        d = x.exp()
    return log


@case
def engine_saved_double_backward_hooks(torch):
    G = torch.autograd.graph
    x = leaf(torch)
    with G.saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t):
        y = (x * 2) ** 3
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    return g, err(lambda: torch.autograd.grad(g.sum(), x))


@case
def engine_register_hooks_saved(torch):
    x = leaf(torch)
    y = x * x
    y.grad_fn._raw_saved_self.register_hooks(lambda t: t.tolist(), lambda l: torch.tensor(l) * 2)
    r = err(lambda: y.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t))
    y.sum().backward()
    return r, x.grad


@case
def engine_save_cpu(torch):
    x = leaf(torch)
    with torch.autograd.graph.save_on_cpu():
        y = (x * x).exp()
    y.sum().backward()
    return x.grad


@case
def engine_allow_mut(torch):
    x = leaf(torch)
    with torch.autograd.graph.allow_mutation_on_saved_tensors() as ctx:
        h = x * 2
        y = h**2
        h.mul_(5)
        r = y.sum()
        r.backward()
    return x.grad


@case
def engine_allow_mut2(torch):
    with torch.autograd.graph.allow_mutation_on_saved_tensors() as ctx:
        a = torch.ones(2, 3, requires_grad=True)
        b = a.clone()
        out = (b**2).sum()
        b.sin_()
        (out.backward())
        n = type(ctx).__name__
    return a.grad, n


@case
def engine_allow_mut_outside(torch):
    x = leaf(torch)
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        h = x * 2
        y = h**2
    return err(lambda: y.sum().backward())


@case
def engine_allow_mut_nested(torch):
    def f():
        with torch.autograd.graph.allow_mutation_on_saved_tensors():
            with torch.autograd.graph.allow_mutation_on_saved_tensors():
                pass

    return err(f)


@case
def engine_version_msgs(torch):
    out = []
    x = leaf(torch)
    h = x * 2
    y = h * h
    h.add_(1)
    out.append(err(lambda: y.sum().backward()))
    x = leaf(torch)
    h = x.exp()
    h.add_(1)
    out.append(err(lambda: h.sum().backward()))
    x = leaf(torch)
    w = leaf(torch)
    y = x * w
    with torch.no_grad():
        w.add_(1)
    out.append(err(lambda: y.sum().backward()))
    x = leaf(torch)
    y = x[0] * x
    return out


@case
def engine_freed(torch):
    x = leaf(torch)
    y = (x * x).sum()
    y.backward()
    return err(lambda: y.backward()), err(lambda: y.grad_fn.next_functions[0][0]._saved_self)


@case
def engine_freed_linear(torch):
    x = leaf(torch)
    y = (x * 2).sum()
    y.backward()
    y.backward()
    return x.grad


@case
def engine_batched(torch):
    x = leaf(torch)
    y = x**2
    return torch.autograd.grad(y, x, torch.eye(3), is_grads_batched=True)


@case
def engine_batched2(torch):
    x = leaf(torch)
    w = leaf(torch)
    y = (x * w).exp()
    return (torch.autograd.grad([y, x * 2], [x, w], [torch.eye(3), torch.ones(3, 3)], is_grads_batched=True),)


@case
def engine_batched_err(torch):
    x = leaf(torch)
    y = x**3
    return (
        err(lambda: torch.autograd.grad(y, x, torch.ones(3), is_grads_batched=True)),
        err(lambda: torch.autograd.grad(y, x, torch.ones(2, 4), is_grads_batched=True)),
        err(lambda: torch.autograd.grad(y, x, None, is_grads_batched=True)),
        err(lambda: torch.autograd.grad([y, y], x, [torch.ones(2, 3), torch.ones(4, 3)], is_grads_batched=True)),
    )


@case
def engine_materialize(torch):
    x, z = leaf(torch), leaf(torch)
    return (
        torch.autograd.grad((x * 2).sum(), [x, z], materialize_grads=True),
        err(lambda: torch.autograd.grad((x * 2).sum(), [x, z], materialize_grads=True, allow_unused=False)),
        err(lambda: torch.autograd.grad((x * 2).sum(), [x, z])),
        torch.autograd.grad((x * 2).sum(), [x, z], allow_unused=True),
    )


@case
def engine_grad_edge(torch):
    G = torch.autograd.graph
    x = leaf(torch)
    h = x * 2
    y = h * h
    e = G.get_gradient_edge(h)
    ex = G.get_gradient_edge(x)
    return torch.autograd.grad(y.sum(), [e, ex]), e.output_nr, type(e).__name__, type(ex.node).__name__


@case
def engine_grad_edge_root(torch):
    G = torch.autograd.graph
    x = leaf(torch)
    h = x * 2
    y = (h * h).sum()
    e = G.get_gradient_edge(y)
    return (
        torch.autograd.grad(e, x, retain_graph=True),
        err(lambda: torch.autograd.backward(e)),
        x.grad,
        err(lambda: G.get_gradient_edge(torch.ones(2))),
    )


@case
def engine_grad_edge_dead(torch):
    G = torch.autograd.graph
    x = leaf(torch)
    h = x * 2
    y = (h * h).sum()
    e = G.get_gradient_edge(h)
    del h
    y.backward(inputs=[e]) if False else None
    return torch.autograd.grad(y, e)


@case
def engine_grad_edge_backward_inputs(torch):
    G = torch.autograd.graph
    x = leaf(torch)
    h = x * 2
    y = (h * h).sum()
    e = G.get_gradient_edge(x)
    y.backward(inputs=[e])
    return x.grad


@case
def engine_grad_edge_materialize(torch):
    G = torch.autograd.graph
    x, z = leaf(torch), leaf(torch)
    return err(lambda: torch.autograd.grad((x * 2).sum(), [G.get_gradient_edge(z)], materialize_grads=True))


@case
def engine_errors(torch):
    x = leaf(torch)
    y = x * 2
    A = torch.autograd
    return [
        err(lambda: y.backward()),
        err(lambda: torch.ones(2).sum().backward()),
        err(lambda: y.backward(torch.ones(2))),
        err(lambda: A.grad(y.sum(), torch.ones(3))),
        err(lambda: A.backward([y, y], [torch.ones(3)])),
        err(lambda: A.backward(y.sum(), inputs=[])),
        err(lambda: A.grad([], x)),
        err(lambda: A.grad(y.sum(), [])),
        err(lambda: y.backward(3)),
        err(lambda: A.grad(y, x, [torch.ones(3, dtype=torch.complex64)])),
        err(lambda: A.backward("s")),
        err(lambda: A.grad(y.sum(), "s")),
        err(lambda: A.backward(y.sum(), inputs=[torch.ones(2)])),
    ]


@case
def engine_root_leaf(torch):
    x = torch.tensor(2.0, requires_grad=True)
    x.backward()
    return x.grad, torch.autograd.grad(x, x)


@case
def engine_same_root_twice(torch):
    x = torch.tensor(2.0, requires_grad=True)
    y = x * x
    torch.autograd.backward([y, y])
    return x.grad


@case
def engine_root_is_input(torch):
    x = leaf(torch)
    y = x * 2
    z = y.sum()
    return torch.autograd.grad([z, y], [y], [torch.tensor(1.0), torch.ones(3)])


@case
def engine_grad_of_zero_elem(torch):
    x = torch.zeros(0, requires_grad=True)
    return err(lambda: (x * 2).backward()), torch.autograd.grad((x * 2).sum(), x)


@case
def engine_noninput_retain(torch):
    x = leaf(torch)
    y = x * 2
    z = (y**2).sum()
    torch.autograd.grad(z, y)
    return err(lambda: torch.autograd.grad(z, x))


@case
def engine_partial_free(torch):
    x = leaf(torch)
    y = x**2
    z = (y**2).sum()
    torch.autograd.grad(z, y)
    return err(lambda: y.sum().backward()), x.grad


@case
def engine_inference(torch):
    out = []
    with torch.inference_mode():
        a = torch.ones(3)
        b = a * 2
        out += [
            a.is_inference(),
            b.is_inference(),
            torch.is_inference_mode_enabled(),
            torch.is_grad_enabled(),
            a.requires_grad,
        ]
        out.append(err(lambda: a._version))
        a.add_(1)
    x = leaf(torch)
    out.append(err(lambda: a * x))
    out.append(err(lambda: a + x))
    out.append(err(lambda: a.add_(1)))
    out.append(err(lambda: a.requires_grad_()))
    out.append(err(lambda: a._version))
    c = a.clone()
    out.append(c.is_inference())
    out.append(a.view(3, 1).is_inference())
    out.append(err(lambda: a.view(3, 1).requires_grad_()))
    with torch.inference_mode(False):
        out.append(torch.is_inference_mode_enabled())
    with torch.inference_mode():
        y = x * 2
        out += [y, y.is_inference()]
        with torch.inference_mode(False):
            z = x * 2
            out += [z.requires_grad, z.is_inference(), torch.is_grad_enabled()]
        with torch.enable_grad():
            w = x * 2
            out += [w.requires_grad, torch.is_grad_enabled()]
    with torch.no_grad(), torch.inference_mode(False):
        out.append(torch.is_grad_enabled())
    return [o if not (isinstance(o, torch.Tensor) and o.is_inference()) else "inf" for o in out]


@case
def engine_inf_view_inplace(torch):
    x = torch.ones(3)
    with torch.inference_mode():
        v = x.view(3)
        r = v.is_inference()
        x.add_(1)
    return r, x.is_inference(), x, err(lambda: v.add_(1)), v.is_inference()


@case
def engine_inf_inplace_leaf(torch):
    x = leaf(torch)
    y = x * 1

    def f():
        with torch.inference_mode():
            x.add_(1)

    def g():
        with torch.inference_mode():
            y.add_(1)

    return err(f), err(g), y


@case
def engine_threads_grad_mode(torch):
    out = []

    def f():
        out.append(torch.is_grad_enabled())

    with torch.no_grad():
        t = threading.Thread(target=f)
        t.start()
        t.join()
        out.append(torch.is_grad_enabled())
    return out


@case
def engine_increment(torch):
    x = torch.ones(3)
    torch.autograd.graph.increment_version(x)
    torch.autograd.graph.increment_version([x, x])
    return x._version


@case
def engine_node_props(torch):
    x = leaf(torch)
    y = x * 2
    n = y.grad_fn
    return (
        n.name(),
        n.metadata,
        len(n._input_metadata),
        n._input_metadata[0].shape,
        n._input_metadata[0].dtype,
        isinstance(n, torch.autograd.graph.Node),
        issubclass(type(n), torch.autograd.graph.Node),
        n == y.grad_fn,
        hash(n) == hash(y.grad_fn),
    )


@case
def engine_accum_layout(torch):
    x = torch.ones(2, 3, requires_grad=True)
    (x.t() * torch.ones(3, 2)).sum().backward()
    s = x.grad.stride()
    g = x.grad
    (x * 2).sum().backward()
    return s, x.grad is g, x.grad


@case
def engine_accum_create(torch):
    x = leaf(torch)
    (x**2).sum().backward(create_graph=True)
    g = x.grad
    (x**2).sum().backward()
    r1 = x.grad is g
    return (
        r1,
        x.grad,
    )


@case
def engine_accum_create2(torch):
    x = leaf(torch)
    (x**2).sum().backward()
    g = x.grad
    (x**2).sum().backward(create_graph=True)
    return x.grad is g, x.grad


@case
def engine_grad_assign(torch):
    x = leaf(torch)
    x.grad = torch.ones(3)
    return (
        err(lambda: setattr(x, "grad", torch.ones(2))),
        err(lambda: setattr(x, "grad", torch.ones(3).double())),
        err(lambda: setattr(x, "grad", 3)),
        err(lambda: setattr(x, "grad", x)),
        x.grad,
    )


@case
def engine_grad_alias(torch):
    x = leaf(torch)
    g = torch.ones(3)
    x.backward(g)
    r = x.grad is g
    g.add_(1)
    return r, x.grad


@case
def engine_grad_share(torch):
    x, z = leaf(torch), leaf(torch)
    (x + z).backward(torch.ones(3))
    x.grad.add_(1)
    return x.grad, z.grad


@case
def engine_detect(torch):
    x = leaf(torch)

    def f():
        with torch.autograd.detect_anomaly():
            (torch.sqrt(x * 0) * 0).sum().backward()

    return err(f)


@case
def engine_detect_nocheck(torch):
    x = leaf(torch)
    with torch.autograd.set_detect_anomaly(True, check_nan=False):
        (torch.sqrt(x * 0) * 0).sum().backward()
    return x.grad


@case
def engine_backward_in_backward(torch):
    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            with torch.enable_grad():
                ctx.d = x.detach().requires_grad_()
                ctx.y = (ctx.d**2).sum()
            return ctx.y.detach()

        @staticmethod
        def backward(ctx, g):
            ctx.y.backward(g)
            return ctx.d.grad

    x = leaf(torch)
    F.apply(x * 1).backward()
    return x.grad


@case
def engine_ckpt_nonre(torch):
    checkpoint = checkpointing(torch).checkpoint
    x = leaf(torch)
    n = [0]

    def f(a):
        n[0] += 1
        return (a.exp() * a).sin()

    y = checkpoint(f, x, use_reentrant=False)
    g = graph(y)
    y.sum().backward()
    z = f(x)
    return y, g, n, x.grad, torch.autograd.grad(z.sum(), x)


@case
def engine_ckpt_re(torch):
    checkpoint = checkpointing(torch).checkpoint
    x = leaf(torch)
    n = [0]

    def f(a):
        n[0] += 1
        return (a.exp() * a).sin()

    y = checkpoint(f, x, use_reentrant=True)
    g = graph(y)
    y.sum().backward()
    return y, g, n, x.grad


@case
def engine_ckpt_double(torch):
    checkpoint = checkpointing(torch).checkpoint
    x = leaf(torch)

    def f(a):
        return (a.exp() * a).sin()

    y = checkpoint(f, x, use_reentrant=False)
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    return g, torch.autograd.grad(g.sum(), x)


@case
def engine_ckpt_rng(torch):
    checkpoint = checkpointing(torch).checkpoint
    x = torch.ones(6, requires_grad=True)
    torch.manual_seed(0)
    y = checkpoint(lambda a: a * torch.rand(6), x, use_reentrant=False)
    torch.rand(3)
    y.sum().backward()
    return (x.grad - y).abs().max().item()


@case
def engine_ckpt_mismatch(torch):
    checkpoint = checkpointing(torch).checkpoint
    x = leaf(torch)
    n = [0]

    def f(a):
        n[0] += 1
        return a.exp() if n[0] == 1 else a.exp().sin()

    def g(a):
        n[0] += 1
        return a.exp().sin() if n[0] == 1 else a.exp()

    y = checkpoint(g, x, use_reentrant=False)
    r = err(lambda: y.sum().backward())
    return r


@case
def engine_ckpt_early(torch):
    checkpoint = checkpointing(torch).checkpoint
    x = leaf(torch)
    log = []

    def f(a):
        log.append("s")
        b = a.exp()
        c = b.sin()
        log.append("e")
        return c * 1

    y = checkpoint(f, x, use_reentrant=False)
    y.sum().backward()
    return log, x.grad


@case
def engine_ckpt_ctx(torch):
    checkpoint = checkpointing(torch).checkpoint
    x = leaf(torch)
    return (
        err(lambda: checkpoint(lambda a: a, x, use_reentrant=True, context_fn=lambda: 1)),
        err(lambda: checkpoint(lambda a: a, x, foo=1, use_reentrant=True)),
        checkpoint(lambda a, k=1: a * k, x, k=4, use_reentrant=False),
    )


@case
def engine_ckpt_nograd_input(torch):
    checkpoint = checkpointing(torch).checkpoint
    x = torch.ones(3)
    w = leaf(torch)
    y = checkpoint(lambda a: a * w, x, use_reentrant=False)
    y.sum().backward()
    z = checkpoint(lambda a: a * w, x, use_reentrant=True)
    return w.grad, z


def _told(run):
    """The error of `run` in anomaly mode, and the first line of each paragraph that it was warned with."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        said = err(run)
    return said, [str(w.message).strip().split(" (Triggered")[0].split("\n")[0] for w in caught]


@case
def engine_anomalies_are_told_with_all_they_came_from(torch):
    grad, anomaly = torch.autograd.grad, torch.autograd.set_detect_anomaly

    def of_third_order():
        x = leaf(torch, 0.0, 1.0)
        (g,) = grad((x**1.5).sum(), x, create_graph=True)
        (h,) = grad(g.sum(), x, create_graph=True)
        return grad(h.sum(), x)

    def of_a_hook():
        y = leaf(torch) * 2
        y.register_hook(lambda g: 1 / 0)
        y.sum().backward()

    def of_a_function():
        made(torch, lambda ctx, x: x * 2, lambda ctx, g: 1 / 0).apply(leaf(torch)).sum().backward()

    def of_a_second_pass():
        y = leaf(torch).exp()
        y.sum().backward()
        y.sum().backward()

    def of_a_change():
        y = leaf(torch).exp()
        y.add_(1)
        y.sum().backward()

    with anomaly(True):
        inside = [_told(run) for run in (of_third_order, of_a_hook, of_a_function, of_a_second_pass, of_a_change)]
    y = leaf(torch, 0.0, 1.0).sqrt() * 0
    with anomaly(True):
        return inside, _told(lambda: y.sum().backward())


@case
def engine_nodes_of_derivatives_run_in_one_order(torch):
    """Return which node of the first, second and third derivative runs when: two gradients of one node are worked out
    in a certain order."""
    pair = made(
        torch,
        lambda ctx, x: (ctx.save_for_backward(x, x.sin()), x.sin() * x, x.sin())[1:],
        lambda ctx, g, h: (
            g * (ctx.saved_tensors[0].sin() + ctx.saved_tensors[0].cos()) + h * ctx.saved_tensors[0].cos()
        ),
    )
    seen = []
    functions = (
        lambda a, b: a * b,
        lambda a, b: (a + 3) ** b,
        lambda a, b: a.lerp(b, a * b),
        lambda a, b: torch.addcmul(a, a, b),
        lambda a, b: torch.where(a > b, a * b, b),
        lambda a, b: torch.nn.functional.mse_loss(a, b),
        lambda a, b: a.sum() * b - a.exp(),
        lambda a, b: (a[:, None] * b) @ b,
        lambda a, b: torch.outer(a, b).tanh(),
        lambda a, b: torch.maximum(a * b, b),
    )
    for f in functions:
        x = leaf(torch, 0.3, 0.7)
        current, orders = f(*pair.apply(x)), []
        for _ in range(3):
            root = current.sum()
            numbers, order = _numbered(root), []
            handles = [
                node.register_prehook(lambda _, i=i, order=order: order.append(i))
                for node, i in numbers.items()
                if "Accumulate" not in node.name()
            ]
            (current,) = torch.autograd.grad(root, x, create_graph=True)
            for handle in handles:
                handle.remove()
            orders.append(order)
        seen.append(orders)
    return seen


def _numbered(tensor):
    """Nodes by depth first."""
    numbers, stack = {}, [tensor.grad_fn]
    while stack:
        node = stack.pop()
        if node is not None and node not in numbers:
            numbers[node] = len(numbers)
            stack += [target for target, _ in reversed(node.next_functions)]
    return numbers


@case
def engine_grad_by_a_dict_and_hooks_that_answer_none(torch):
    x = leaf(torch)
    y = x * 2
    by_name = torch.autograd.grad(x.sum(), {"x": x, "y": y}, allow_unused=True)
    empty = err(lambda: torch.autograd.grad(x.sum(), {}))
    z = x**2
    z.grad_fn.register_prehook(lambda grads: (None,))
    z.sum().backward()
    hooks = err(lambda: torch.autograd.graph.saved_tensors_hooks(1, 2).__enter__())
    complex_backward = made(torch, lambda ctx, t: t * 2, lambda ctx, g: g.to(torch.complex64))
    kinds = [err(lambda kind=kind: _hooked(torch, kind)) for kind in (torch.complex64, torch.float64)]
    return by_name, empty, x.grad, hooks, err(lambda: torch.autograd.grad(complex_backward.apply(x).sum(), x)), kinds


def _hooked(torch, kind):
    x = leaf(torch)
    x.register_hook(lambda g: g.to(kind))
    (x * 2).sum().backward()


def _told_short(found):
    return hashlib.sha1(repr(found).encode()).hexdigest()[:8]


def _three_derivatives(torch, f, shapes):
    """The graphs of three derivatives of `f` by both its matrices."""
    inputs = [torch.arange(1.0, 1 + n * m, dtype=torch.float64).sin().reshape(n, m).requires_grad_() for n, m in shapes]
    current, found = f(*inputs), []
    for order in range(3):
        if not current.requires_grad:
            break
        gradients = torch.autograd.grad(
            (current if order else current**2).sum(), inputs, create_graph=True, allow_unused=True
        )
        found.append([None if g is None else graph(g) for g in gradients])
        current = sum((g.sum() for g in gradients if g is not None and g.requires_grad), torch.zeros(()))
    return found


@case
def engine_graphs_of_products_of_small_matrices(torch):
    """Rows, columns and single numbers: their strides choose the formula of a product's gradient."""
    linear = torch.nn.functional.linear
    products = {
        "mm": lambda a, b: a @ b,
        "transposed": lambda a, b: (b.t() @ a.t()).tanh(),
        "linear": lambda a, b: linear(a, b.t()),
        "twice": lambda a, b: (a @ b) @ b.t(),
        "addmm": lambda a, b: torch.addmm(a.sum(1, keepdim=True), a, b),
        "mv": lambda a, b: a @ b[:, 0],
        "vm": lambda a, b: a[0] @ b,
        "bmm": lambda a, b: a[None] @ b[None],
        "new dimensions": lambda a, b: a[0][None] @ b[:, 0][:, None],
        "outer": lambda a, b: torch.outer(a[0], b[0]),
        "expanded": lambda a, b: a[0].expand(3, -1) @ b,
    }
    shapes = [((n, k), (k, m)) for n in (1, 2) for k in (1, 3) for m in (1, 2)]
    return {name: [_told_short(_three_derivatives(torch, f, pair)) for pair in shapes] for name, f in products.items()}


@case
def engine_layout_of_results_of_two_tensors(torch):
    """Strides where the arguments are in different orders."""
    lay = {
        "rows": lambda n, m: torch.ones(n, m),
        "columns": lambda n, m: torch.ones(m, n).t(),
        "one row": lambda n, m: torch.ones(1, m).expand(n, m),
        "one column": lambda n, m: torch.ones(n, 1).expand(n, m),
        "steps": lambda n, m: torch.ones(n, 2 * m)[:, ::2],
        "vector": lambda n, m: torch.ones(m),
    }
    operations = (
        torch.add, torch.sub, torch.mul, torch.div, torch.maximum, torch.atan2, torch.pow, torch.hypot,
        lambda a, b: torch.where(a > 0, a, b), lambda a, b: torch.lerp(a, b, b), lambda a, b: torch.addcmul(a, b, a),
    )  # fmt: skip
    found = {}
    for one in lay:
        for other in lay:
            pairs = [[lay[kind](2, 3).requires_grad_() for kind in (one, other)] for _ in operations]
            found[f"{one}, {other}"] = [f(*pair).stride() for f, pair in zip(operations, pairs, strict=True)]
    return found

"""Custom Functions: what forward may return, mark and save, and what backward may."""

# ruff: noqa: RUF059
from tests.torch.autograd.behaviours import case, err, graph, leaf, made


@case
def function_setup_ctx(torch):
    F = made(
        torch,
        lambda x, k=2: x * k,
        lambda ctx, g: (g * ctx.k, None),
        setup_context=lambda ctx, inputs, output: (setattr(ctx, "k", inputs[1]), ctx.save_for_backward(output))[0],
    )
    x = leaf(torch)
    y = F.apply(x, 3)
    y.sum().backward()
    return y, x.grad, F.apply(x), err(lambda: F.apply(x, 4, 5))


@case
def function_input_returned(torch):
    F = made(torch, lambda ctx, x: x, lambda ctx, g: g * 5)
    x = leaf(torch)
    y = F.apply(x)
    g = graph(y)
    y.sum().backward()
    return y is x, y, g, x.grad


@case
def function_input_returned_nonleaf(torch):
    F = made(torch, lambda ctx, x: x, lambda ctx, g: g * 5)
    x = leaf(torch)
    h = x * 2
    y = F.apply(h)
    g = graph(y)
    y.sum().backward()
    return y is h, y, h, g, x.grad, y._is_view(), y._base is h


@case
def function_input_returned_inplace(torch):
    F = made(torch, lambda ctx, x: x, lambda ctx, g: g * 5)
    x = leaf(torch)
    h = x * 2
    y = F.apply(h)
    return err(lambda: y.mul_(2))


@case
def function_input_returned_noreq(torch):
    F = made(torch, lambda ctx, x, z: (x * 1, z), lambda ctx, g, h: (g * 5, None))
    x = leaf(torch)
    z = torch.ones(3)
    a, b = F.apply(x, z)
    return a, b, b is z


@case
def function_view_returned(torch):
    F = made(torch, lambda ctx, x: x.view(3, 1), lambda ctx, g: g.view(3) * 5)
    x = leaf(torch)
    h = x * 2
    y = F.apply(h)
    g = graph(y)
    r = err(lambda: y.mul_(2))
    y.sum().backward()
    return y, g, r, x.grad, y._is_view()


@case
def function_view_returned_two(torch):
    F = made(torch, lambda ctx, x: (x.view(3, 1), x[0]), lambda ctx, g, h: g.view(3) * 5)
    x = leaf(torch)
    h = x * 2
    y, z = F.apply(h)
    g = graph(y)
    r = err(lambda: y.mul_(2))
    y.sum().backward()
    return y, z, g, r, x.grad, y._is_view()


@case
def function_dirty(torch):
    F = made(torch, lambda ctx, x: (ctx.mark_dirty(x), x.mul_(2))[1], lambda ctx, g: g * 2)
    x = leaf(torch)
    h = x * 1
    y = F.apply(h)
    g = graph(y)
    y.sum().backward()
    return y is h, y, g, x.grad, err(lambda: F.apply(x))


@case
def function_dirty_view(torch):
    F = made(torch, lambda ctx, x: (ctx.mark_dirty(x), x.mul_(2))[1], lambda ctx, g: g * 2)
    x = leaf(torch)
    h = x * 1
    v = h[:2]
    y = F.apply(v)
    g = graph(h)
    h.sum().backward()
    return y, h, g, x.grad


@case
def function_dirty_not_returned(torch):
    F = made(torch, lambda ctx, x: (ctx.mark_dirty(x), x.mul_(2), x * 1)[2], lambda ctx, g: g * 2)
    x = leaf(torch)
    return err(lambda: F.apply(x * 1))


@case
def function_nondiff(torch):
    F = made(
        torch,
        lambda ctx, x: (lambda a, b: (ctx.mark_non_differentiable(b), (a, b))[1])(x * 2, x * 3),
        lambda ctx, g, h: g * 2 if h is None else g * 2 + h,
    )
    x = leaf(torch)
    a, b = F.apply(x)
    a.sum().backward()
    return a, b, x.grad


@case
def function_materialize(torch):
    log = []

    def fw(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 1, x * 2

    def bw(ctx, a, b):
        log.append((a is None, b is None))
        return a

    F = made(torch, fw, bw)
    x = leaf(torch)
    a, b = F.apply(x)
    a.sum().backward()
    return log, x.grad


@case
def function_materialize_default(torch):
    log = []
    F = made(torch, lambda ctx, x: (x * 1, x.double() * 2), lambda ctx, a, b: (log.append((a, b)), a)[1])
    x = leaf(torch)
    a, b = F.apply(x)
    a.sum().backward()
    return log, x.grad


@case
def function_int_output(torch):
    log = []
    F = made(torch, lambda ctx, x: (x * 1, torch.arange(3)), lambda ctx, a, b: (log.append((a, b)), a)[1])
    x = leaf(torch)
    a, b = F.apply(x)
    a.sum().backward()
    return a, b, log, x.grad


@case
def function_nontensor_output(torch):
    F = made(torch, lambda ctx, x: (x * 1, "s", None), lambda ctx, a, b, c: a * (2 if b is None else 3))
    x = leaf(torch)
    a, b, c = F.apply(x)
    a.sum().backward()
    return a, b, c, x.grad


@case
def function_list_output(torch):
    F = made(torch, lambda ctx, x: [x * 1, x * 2], lambda ctx, *g: g[0])
    x = leaf(torch)
    return err(lambda: F.apply(x))


@case
def function_nested_args(torch):
    F = made(torch, lambda ctx, xs, d: xs[0] * 2, lambda ctx, g: (None, None))
    x = leaf(torch)
    y = F.apply([x], {"a": x})
    return y


@case
def function_none_output(torch):
    F = made(torch, lambda ctx, x: None, lambda ctx, g: g)
    x = leaf(torch)
    return err(lambda: F.apply(x))


@case
def function_wrong_count(torch):
    F = made(torch, lambda ctx, x, y: x * y, lambda ctx, g: g)
    x = leaf(torch)
    return err(lambda: F.apply(x, x).sum().backward())


@case
def function_too_many(torch):
    F = made(torch, lambda ctx, x: x * 1, lambda ctx, g: (g, g))
    x = leaf(torch)
    return err(lambda: F.apply(x).sum().backward())


@case
def function_too_many_none(torch):
    F = made(torch, lambda ctx, x: x * 1, lambda ctx, g: (g, None))
    x = leaf(torch)
    return err(lambda: F.apply(x).sum().backward()), x.grad


@case
def function_wrong_shape(torch):
    F = made(torch, lambda ctx, x: x * 1, lambda ctx, g: torch.ones(7))
    x = leaf(torch)
    return err(lambda: F.apply(x).sum().backward()), x.grad


@case
def function_wrong_type(torch):
    F = made(torch, lambda ctx, x: x * 1, lambda ctx, g: "s")
    x = leaf(torch)
    return err(lambda: F.apply(x).sum().backward())


@case
def function_other_dtype(torch):
    F = made(torch, lambda ctx, x: x * 1, lambda ctx, g: g.double())
    x = leaf(torch)
    F.apply(x).sum().backward()
    return x.grad


@case
def function_grad_for_nontensor(torch):
    F = made(torch, lambda ctx, x, k: x * k, lambda ctx, g: (g, g))
    x = leaf(torch)
    return err(lambda: F.apply(x, 2).sum().backward())


@case
def function_raise_in_backward(torch):
    def bw(ctx, g):
        raise ValueError("boom")

    F = made(torch, lambda ctx, x: x * 1, bw)
    x = leaf(torch)
    r = err(lambda: F.apply(x).sum().backward())
    (x * 2).sum().backward()
    return r, x.grad, torch.is_grad_enabled()


@case
def function_once(torch):
    od = torch.autograd.function.once_differentiable
    F = made(torch, lambda ctx, x: x * x, od(lambda ctx, g: g * 2))
    x = leaf(torch)
    y = F.apply(x)
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    return g, graph(g), err(lambda: g.sum().backward())


@case
def function_saved_twice(torch):
    F = made(
        torch,
        lambda ctx, x: (ctx.save_for_backward(x, x * 2, None), x * 1)[1],
        lambda ctx, g: (lambda a, b, c: g * a + b)(*ctx.saved_tensors),
    )
    x = leaf(torch)
    y = F.apply(x)
    y.sum().backward()
    return x.grad, err(lambda: y.grad_fn.saved_tensors), err(lambda: y.sum().backward())


@case
def function_save_nontensor(torch):
    F = made(torch, lambda ctx, x: (ctx.save_for_backward(3), x * 1)[1], lambda ctx, g: g)
    return err(lambda: F.apply(leaf(torch)))


@case
def function_save_modified(torch):
    F = made(torch, lambda ctx, x: (ctx.save_for_backward(x), x * 1)[1], lambda ctx, g: g * ctx.saved_tensors[0])
    x = leaf(torch)
    h = x * 1
    y = F.apply(h)
    h.mul_(2)
    return err(lambda: y.sum().backward())


@case
def function_needs(torch):
    log = []
    F = made(
        torch,
        lambda ctx, x, y, k: (log.append(ctx.needs_input_grad), x * y)[1],
        lambda ctx, g: (log.append(ctx.needs_input_grad), (g, g, None))[1],
    )
    x = leaf(torch)
    y = F.apply(x, torch.ones(3), 3)
    torch.autograd.grad(y.sum(), x)
    return log


@case
def function_needs_inputs(torch):
    log = []
    F = made(torch, lambda ctx, x, y: x * y, lambda ctx, g: (log.append(ctx.needs_input_grad), (g, g))[1])
    x, w = leaf(torch), leaf(torch)
    y = F.apply(x, w)
    torch.autograd.grad(y.sum(), x)
    return log


@case
def function_grad_mode_fw_bw(torch):
    log = []
    F = made(
        torch,
        lambda ctx, x: (log.append(torch.is_grad_enabled()), x * 1)[1],
        lambda ctx, g: (log.append(torch.is_grad_enabled()), g)[1],
    )
    x = leaf(torch)
    F.apply(x).sum().backward()
    F.apply(x).sum().backward(create_graph=True)
    with torch.no_grad():
        y = F.apply(x)
    return log, y


@case
def function_double_back(torch):
    F = made(
        torch, lambda ctx, x: (ctx.save_for_backward(x), x**3)[1], lambda ctx, g: 3 * ctx.saved_tensors[0] ** 2 * g
    )
    x = leaf(torch)
    y = F.apply(x)
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x, create_graph=True)
    return g, h, graph(g)


@case
def function_ctx_attr_graph(torch):
    F = made(torch, lambda ctx, x: (setattr(ctx, "x", x), x**3)[1], lambda ctx, g: 3 * ctx.x**2 * g)
    x = leaf(torch)
    y = F.apply(x)
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    return g, graph(g)


@case
def function_names(torch):
    F = made(torch, lambda ctx, x: x * 1, lambda ctx, g: g)
    y = F.apply(leaf(torch))
    n = y.grad_fn
    return (
        n.name(),
        type(n).__name__,
        type(n).__mro__[1].__name__,
        isinstance(n, torch.autograd.graph.Node),
        n.next_functions[0][1],
        str(y),
    )


@case
def function_instantiate(torch):
    F = made(torch, lambda ctx, x: x * 1, lambda ctx, g: g)
    return err(lambda: F()(leaf(torch))), err(lambda: torch.autograd.Function.apply(leaf(torch)))


@case
def function_no_backward(torch):
    class G(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

    x = leaf(torch)
    return err(lambda: G.apply(x).sum().backward())


@case
def function_both(torch):
    class G(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g

        @staticmethod
        def vjp(ctx, g):
            return g

    x = leaf(torch)
    return err(lambda: G.apply(x).sum().backward())


@case
def function_vjp_only(torch):
    class G(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def vjp(ctx, g):
            return g * 4

    x = leaf(torch)
    G.apply(x).sum().backward()
    return x.grad


@case
def function_kwargs(torch):
    F = made(torch, lambda ctx, x, k=2: x * k, lambda ctx, g: (g, None))
    return err(lambda: F.apply(leaf(torch), k=3))


@case
def function_detached_input_used(torch):
    F = made(torch, lambda ctx, x: x.detach(), lambda ctx, g: g * 3)
    x = leaf(torch)
    h = x * 1
    y = F.apply(h)
    y.sum().backward()
    return y, x.grad, y._is_view(), y._version


@case
def function_inplace_on_output(torch):
    F = made(torch, lambda ctx, x: x * 2, lambda ctx, g: g * 2)
    x = leaf(torch)
    y = F.apply(x)
    y.add_(1)
    g = graph(y)
    y.sum().backward()
    return y, g, x.grad


@case
def function_inplace_on_multi(torch):
    F = made(torch, lambda ctx, x: (x * 2, x * 3), lambda ctx, a, b: a * 2 + b * 3)
    x = leaf(torch)
    y, z = F.apply(x)
    y.add_(1)
    g = graph(y)
    y.sum().backward()
    return y, g, x.grad


@case
def function_ctx_names(torch):
    def fw(ctx, x):
        ctx.saved = x
        ctx.x = x
        ctx.edges = 1
        ctx.name2 = "n"
        ctx.like = 5
        ctx.seq = 1
        ctx.extra = 2
        ctx.save_for_backward(x)
        return x * 1

    F = made(torch, fw, lambda ctx, g: g * ctx.like * ctx.x)
    x = leaf(torch)
    y = F.apply(x)
    y.sum().backward()
    return x.grad, y.grad_fn.name2


@case
def function_same_input_twice(torch):
    F = made(torch, lambda ctx, x, y: x * y, lambda ctx, g: (g, g * 2))
    x = leaf(torch)
    y = F.apply(x, x)
    y.sum().backward()
    return x.grad, graph(y)


@case
def function_saved_output(torch):
    F = made(
        torch,
        lambda ctx, x: (lambda y: (ctx.save_for_backward(y), y)[1])(x.exp()),
        lambda ctx, g: g * ctx.saved_tensors[0],
    )
    x = leaf(torch)
    y = F.apply(x)
    s = y.grad_fn.saved_tensors[0]
    r = (s is y, s.grad_fn is y.grad_fn, s)
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    return r, g, h


@case
def function_leafless(torch):
    F = made(torch, lambda ctx, x: x * 1, lambda ctx, g: g)
    y = F.apply(torch.ones(3))
    return y, y.grad_fn


@case
def function_undefined_grads_none(torch):
    F = made(torch, lambda ctx, x: x * 1, lambda ctx, g: None)
    x = leaf(torch)
    F.apply(x).sum().backward()
    return x.grad, torch.autograd.grad(F.apply(x).sum(), x, allow_unused=True)


@case
def function_node_call(torch):
    x = leaf(torch)
    y = x * x
    return y.grad_fn(torch.ones(3)), err(lambda: y.grad_fn()), err(lambda: y.grad_fn(torch.ones(3), torch.ones(3)))


@case
def function_custom_call(torch):
    F = made(torch, lambda ctx, x: x * 1, lambda ctx, g: g * 4)
    y = F.apply(leaf(torch))
    return y.grad_fn(torch.ones(3)), y.grad_fn.apply(torch.ones(3))


@case
def function_gen_vmap(torch):
    class G(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = leaf(torch)
    y = G.apply(x)
    y.sum().backward()
    return y, x.grad


@case
def function_saved_variables(torch):
    F = made(torch, lambda ctx, x: (ctx.save_for_backward(x), x * 1)[1], lambda ctx, g: g)
    y = F.apply(leaf(torch))
    return len(y.grad_fn._raw_saved_tensors), type(y.grad_fn._raw_saved_tensors[0]).__name__


@case
def function_nested_function(torch):
    F = made(torch, lambda ctx, x: x * 2, lambda ctx, g: g * 2)
    H = made(torch, lambda ctx, x: F.apply(x) + 1, lambda ctx, g: F.apply(g))
    x = leaf(torch)
    y = H.apply(x)
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    return y, g, graph(y)


@case
def function_enable_grad_in_backward(torch):
    def fw(ctx, x):
        ctx.save_for_backward(x)
        return x**2

    def bw(ctx, g):
        (x,) = ctx.saved_tensors
        with torch.enable_grad():
            z = x.detach().requires_grad_()
            return torch.autograd.grad((z**2).sum(), z)[0] * g

    F = made(torch, fw, bw)
    x = leaf(torch)
    F.apply(x).sum().backward()
    return x.grad

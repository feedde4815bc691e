"""The tape itself: versions and layout of gradients, views that become leaves, views turned in place, nodes that no gradient reached."""

import threading

from tests.torch.autograd.behaviours import case, err, graph, leaf, made
from tests.torch.core.functions import functions_of
from tests.torch.core.player import graph as dated_graph


def matrix(torch):
    return torch.ones(2, 3, requires_grad=True)


GRADIENTS = {
    "mul": lambda torch, x: (x * 2).sum().backward(),
    "sum": lambda torch, x: x.sum().backward(),
    "add_self": lambda torch, x: ((x + x) * 2).sum().backward(),
    "transposed": lambda torch, x: (x.t() * torch.ones(3, 2)).sum().backward(),
    "viewed": lambda torch, x: (x.view(-1) * 2).sum().backward(),
    "given": lambda torch, x: x.clone().backward(torch.ones(2, 3)),
    "given_mul": lambda torch, x: (x.clone() * 2).backward(torch.ones(2, 3)),
    "selected": lambda torch, x: (x[0] * 2).sum().backward(),
    "expanded": lambda torch, x: (x.expand(2, 2, 3) * 2).sum().backward(),
    "create_graph": lambda torch, x: (x * 2).sum().backward(create_graph=True),
    "inputs": lambda torch, x: (x * 2).sum().backward(inputs=[x]),
    "twice": lambda torch, x: [(x * 2).sum().backward() for _ in range(2)],
    "strided_root": lambda torch, x: torch.autograd.backward([x * 2], [torch.ones(3, 2).t()]),
}


@case
def tape_gradient_versions(torch):
    found = {}
    for name, run in GRADIENTS.items():
        x = matrix(torch)
        run(torch, x)
        found[name] = (x.grad._version, x.grad.stride())
    return found


@case
def tape_gradient_layout(torch):
    found = []
    for x in (torch.ones(3, 2).t(), torch.ones(1, 3).expand(2, 3), torch.ones(4, 2)[::2], torch.ones(2, 3)[:, :1]):
        for create_graph in (False, True):
            y = x.detach().requires_grad_()
            (y * 2).sum().backward(create_graph=create_graph)
            found.append((y.grad.stride(), y.grad._version))
    return found


@case
def tape_gradient_shared_by_two_leaves(torch):
    x, y = matrix(torch), matrix(torch)
    ((x + y) * 2).sum().backward()
    return x.grad._version, y.grad._version


def _turns(torch):
    return {
        "t_": lambda x: x.t_(),
        "transpose_": lambda x: x.transpose_(0, 1),
        "unsqueeze_": lambda x: x.unsqueeze_(0),
        "squeeze_": lambda x: x.squeeze_(),
        "squeeze_dim": lambda x: x.squeeze_(0),
        "swapaxes_": lambda x: x.swapaxes_(0, 1),
        "as_strided_": lambda x: x.as_strided_((2,), (1,)),
    }


@case
def tape_views_turned_in_place(torch):
    found = {}
    for name, turn in _turns(torch).items():
        x = matrix(torch)
        y = x * 2
        z, other = y[:1], y[1:]
        turn(z)
        known = z.shape, z._base is y, z._version, graph(z), graph(other), y.shape
        (z.sum() + (y**2).sum()).backward()
        found[name] = (*known, x.grad)
    return found


@case
def tape_leaves_and_their_views_refuse_to_be_turned(torch):
    found = []
    for turn in _turns(torch).values():
        found.append((err(lambda turn=turn: turn(matrix(torch))), err(lambda turn=turn: turn(matrix(torch)[:1]))))
    return found


@case
def tape_leaves_turned_without_recording(torch):
    found = []
    for turn in _turns(torch).values():
        x = torch.ones(1, 3, requires_grad=True)
        with torch.no_grad():
            turn(x)
        found.append((x, x._version))
    return found


@case
def tape_view_that_asks_for_its_own_gradient(torch):
    y = torch.ones(3)
    v = y[1:]
    v.requires_grad_()
    refused = err(lambda: v.add_(1))
    y.add_(1)
    (v * v).sum().backward()
    flags = v._is_view(), v._base is y, v.is_leaf, y.requires_grad
    v.requires_grad_(False)
    return flags, refused, v.grad, y.grad, v._is_view(), v.requires_grad


@case
def tape_flags_of_inner_tensors(torch):
    y = leaf(torch) * 2
    with torch.no_grad():
        v = leaf(torch)[1:]
    return (
        err(lambda: setattr(y, "requires_grad", True)),
        err(lambda: y.requires_grad_()),
        err(lambda: y.requires_grad_(False)),
        v.requires_grad,
        v.is_leaf,
        v.grad_fn,
        err(lambda: v.requires_grad_()),
    )


@case
def tape_set(torch):
    a, b = torch.ones(2, 3), torch.zeros(4)
    row = a[0]
    a.set_(b)
    b.add_(1)
    y = leaf(torch) * 2
    y.set_(torch.ones(2))
    return (
        a,
        a._version,
        row._version,
        b._version,
        row,
        a.is_set_to(b),
        graph(y),
        err(lambda: leaf(torch).set_(b)),
        torch.ones(2).set_(),
        err(lambda: torch.ones(2).set_(torch.ones(2, dtype=torch.float64))),
        torch.ones(1).set_(torch.arange(6.0), 1, (2, 2), (2, 1)),
        err(lambda: y.sum().backward()),
    )


@case
def tape_data(torch):
    y = leaf(torch)
    z = y * 2
    y.data = torch.zeros(5)
    z.sum().backward()
    inner = leaf(torch) * 2
    inner.data = torch.ones(5)
    return (
        y,
        y.grad,
        inner,
        inner._version,
        err(lambda: inner.sum().backward()),
        err(lambda: setattr(y, "data", torch.ones(2).long())),
    )


@case
def tape_resize(torch):
    a = torch.arange(6.0)
    b = a[1:3]
    b.resize_(4)
    same = torch.ones(2, 3)
    same.resize_(2, 3)
    out = torch.arange(6.0)
    part = out[1:3]
    torch.add(torch.ones(4), 1, out=part)
    return b, b._version, a._version, b.storage_offset(), same._version, out, part, err(lambda: leaf(torch).resize_(2))


@case
def tape_fill_diagonal(torch):
    y = torch.ones(3, 3, requires_grad=True) * 2
    z = y[:2]
    z.fill_diagonal_(5.0)
    y.sum().backward(retain_graph=True)
    return (
        y,
        z,
        graph(y),
        torch.zeros(7, 3).fill_diagonal_(1, wrap=True),
        torch.zeros(2, 2, 2).fill_diagonal_(1),
        err(lambda: torch.zeros(2, 2, 3).fill_diagonal_(1)),
        err(lambda: torch.zeros(3).fill_diagonal_(1)),
    )


@case
def tape_map(torch):
    x = torch.ones(3)
    x.map_(torch.arange(3.0), lambda a, b: a + b).map2_(torch.arange(3.0), torch.arange(3.0), lambda a, b, c: a + b * c)
    x.apply_(lambda a: a * 2)
    return (
        x,
        x._version,
        err(lambda: leaf(torch).map_(x, max)),
        err(lambda: x.map_(leaf(torch), max)),
        err(lambda: leaf(torch).apply_(abs)),
    )


def sparing(torch):
    def forward(ctx, x, y):
        ctx.set_materialize_grads(False)
        return x * 2, y * 3

    return made(torch, forward, lambda ctx, g, h: (None if g is None else g * 2, None if h is None else h * 3))


@case
def tape_hooks_hear_of_gradients_that_did_not_come(torch):
    log = []
    x, w = leaf(torch), leaf(torch)
    y = w.exp()
    y.register_hook(lambda g: log.append(("tensor", g)))
    y.grad_fn.register_prehook(lambda g: log.append(("pre", g)))
    y.grad_fn.register_hook(lambda a, b: log.append(("post", a, b)))
    w.register_hook(lambda g: log.append(("leaf", g)))
    w.register_post_accumulate_grad_hook(lambda p: log.append(("accumulated", p.grad)))
    y.retain_grad()
    a, _ = sparing(torch).apply(x, y)
    a.sum().backward()
    return log, x.grad, w.grad, y.grad, err(lambda: y.sum().backward())


@case
def tape_versions_are_checked_where_no_gradient_came(torch):
    x, w = leaf(torch), leaf(torch) * 1
    y = w * w
    w.add_(1)
    a, _ = sparing(torch).apply(x, y)
    return err(lambda: a.sum().backward())


@case
def tape_dirty_tensor_that_retains_its_gradient(torch):
    x = leaf(torch)
    y = x * 1
    y.retain_grad()
    y.sum().backward(retain_graph=True)
    F = made(torch, lambda ctx, x: (ctx.mark_dirty(x), x.mul_(3))[1], lambda ctx, g: g * 3)
    z = F.apply(y)
    before = y.grad, y.retains_grad
    y.sum().backward()
    return z is y, before, y.grad, x.grad


@case
def tape_inputs_returned_without_recording(torch):
    F = made(torch, lambda ctx, x: x, lambda ctx, g: g)
    x = torch.ones(3)
    y = F.apply(x)
    z = leaf(torch) * 2
    with torch.no_grad():
        w = F.apply(z)
    return y is x, y._is_view(), y._base is x, w is z, w._is_view(), w.requires_grad, w.data_ptr() == z.data_ptr()


@case
def tape_multi_grad_hooks_where_roots_and_strangers_are_named(torch):
    register = torch.autograd.graph.register_multi_grad_hook
    found = []
    for pick in (lambda x, w, y: (w, y), lambda x, w, y: (y,), lambda x, w, y: (x, y)):
        log = []
        x, w = leaf(torch), leaf(torch)
        y = x.exp()
        register(pick(x, w, y), log.append)
        y.backward(torch.ones(3))
        found.append(len(log))
    x = leaf(torch)
    y = x.exp()
    register((x,), found.append)
    plain = torch.ones(2)
    refused = err(lambda: register((plain, x), print)), err(lambda: register((plain, x), print, mode="any") and None)
    return found, err(lambda: torch.autograd.grad(y.sum(), x)), refused


@case
def tape_saved_tensors_in_the_order_of_their_names(torch):
    found = {}
    a, b, c = (torch.full((2, 2), v, requires_grad=True) for v in (0.1, 0.2, 0.3))
    for name, run in {
        "mul": lambda: a * b,
        "minimum": lambda: torch.minimum(a, b),
        "atan2": lambda: torch.atan2(a, b),
        "lerp": lambda: torch.lerp(a, b, c),
        "addmm": lambda: torch.addmm(a, b, c),
        "pow": lambda: a**b,
        "clamp": lambda: torch.clamp(a, b, c),
        "dot": lambda: torch.dot(a[0], b[0]),
    }.items():
        log = []
        with torch.autograd.graph.saved_tensors_hooks(
            lambda t, log=log: (log.append(t.flatten()[0].item()), t)[1], lambda t: t
        ):
            run()
        found[name] = log
    return found


@case
def tape_saved_tensors_are_unpacked_once(torch):
    log = []
    x = leaf(torch)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: (log.append(1), t)[1]):
        y = torch.minimum(x, x * 2).sum()
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    return len(log), g


@case
def tape_index_tensors_are_packed_too(torch):
    log = []
    x = leaf(torch)
    with torch.autograd.graph.saved_tensors_hooks(
        lambda t: (log.append((str(t.dtype), t.tolist())), t)[1], lambda t: t
    ):
        y = x[torch.tensor([0, 2])]
    y.sum().backward()
    return log, x.grad


ARGUMENTS = {
    "add_": "1", "mul_": "2", "clamp_": "0,1", "copy_": "o", "lerp_": "o,0.5", "addcmul_": "o,o",
    "masked_fill_": "m,1.", "index_fill_": "0,i,1.", "index_add_": "0,i,o[:1]", "index_put_": "(i,),o[0]",
    "scatter_": "0,z,1.", "fill_": "1.", "eq_": "1", "logical_and_": "o", "floor_divide_": "2", "heaviside_": "o",
    "cumsum_": "0", "addmm_": "o,o", "pow_": "2", "fmod_": "2", "renorm_": "2,0,1.", "bernoulli_": "", "tril_": "",
    "acosh_": "", "asinh_": "", "atanh_": "", "logical_not_": "", "conj_physical_": "", "relu_": "", "floor_": "",
    "sign_": "", "zero_": "", "sqrt_": "", "erf_": "", "round_": "", "neg_": "", "normal_": "", "detach_": "",
    "requires_grad_": "", "squeeze_": "", "t_": "", "xlogy_": "o", "masked_scatter_": "m,o",
}  # fmt: skip


@case
def tape_in_place_methods_on_leaves_and_inner_tensors_and_views(torch):
    o = torch.tensor([[0.5, 0.6], [0.7, 0.8]], dtype=torch.float64)
    names = {"o": o, "i": torch.tensor([0]), "z": torch.zeros(2, 2, dtype=torch.long), "m": o > 0.55}
    found = {}
    for name, arguments in ARGUMENTS.items():
        for kind in ("leaf", "inner", "view", "plain"):
            base = torch.full((2, 2), 1.3, dtype=torch.float64, requires_grad=True)
            x = {"leaf": base, "inner": base * 1, "view": (base * 1).t(), "plain": base.detach().clone()}[kind]
            refused = err(
                lambda x=x, name=name, arguments=arguments: eval(f"x.{name}({arguments})", {"x": x, **names}) and None
            )
            node = None if x.grad_fn is None else x.grad_fn.name()
            found[f"{name} {kind}"] = (refused, x._version, x.requires_grad, node)
    return found


@case
def tape_nodes_can_be_called_and_asked(torch):
    x = leaf(torch)
    y = x * 2
    node = y.grad_fn
    leaf_node = node.next_functions[0][0]
    known = node._input_metadata[0]
    return (
        node(torch.ones(3)),
        leaf_node(torch.ones(3)),
        x.grad,
        leaf_node.variable is x,
        known.shape,
        known.dtype,
        str(known.device),
        err(lambda: torch.autograd.graph.increment_version(3)),
        len(torch.autograd.graph.get_gradient_edge(y)),
        err(lambda: node()) and None,
    )


@case
def tape_modes_of_another_thread(torch):
    seen = []

    def ask():
        seen.append((torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.is_anomaly_enabled()))

    with torch.no_grad(), torch.autograd.set_detect_anomaly(True):
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
    return seen


HALVES = tuple(
    """
    t*t+t t.exp() t.sum() t.mean() t@t t.softmax(0) t/3 t**2 t.sqrt() t.sigmoid() t.cumsum(0) t.std() t.tanh() t.log()
    t+1e-3 t.norm() t.var() t.sin() t.rsqrt() torch.addcmul(t,t,t) t.lerp(t*2,0.3) t.logsumexp(0)
    """.split()
)


@case
def tape_rounding_of_half_precision(torch):
    found = {}
    for kind in (torch.float16, torch.bfloat16):
        t = torch.arange(1, 9).to(kind) / 7
        for expression in HALVES:
            value = eval(expression, {"t": t, "torch": torch})
            found[f"{kind} {expression}"] = (str(value.dtype), [f"{v:.9g}" for v in value.reshape(-1).tolist()])
    return found


WIRTINGER = tuple(
    """
    (c*c).sum().real c.abs().sum() (c.conj()*c).sum().real c.real.sum() c.imag.sum() c.angle().sum() (c**2).abs().sum()
    torch.view_as_real(c).sum() c.exp().imag.sum() (1/c).real.sum() torch.polar(c.abs(),c.angle()).real.sum()
    """.split()
)


@case
def tape_complex_gradients(torch):
    c = torch.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    found = [torch.autograd.grad(eval(s, {"c": c, "torch": torch}), c)[0].tolist() for s in WIRTINGER]
    shown = [[f"{round(z.real, 4) + 0.0:g} {round(z.imag, 4) + 0.0:g}" for z in row] for row in found]
    r = leaf(torch)
    return (
        shown,
        torch.autograd.grad((r * (1 + 2j)).abs().sum(), r),
        err(lambda: torch.autograd.grad(c * c, c, torch.ones(2))),
    )


def _view_that_moves(torch, move):
    """The nodes behind a view and its base after `move(view, base)`, and what backward says."""
    a = leaf(torch)
    base = a * 2
    view = base[:2]
    move(view, base)
    return (
        view,
        graph(view),
        graph(base),
        view._is_view(),
        view._version,
        err(lambda: torch.autograd.grad(view.sum(), a)),
    )


@case
def tape_views_with_other_memory(torch):
    other = torch.tensor([7.0, 8.0])
    moves = (
        lambda v, b: v.set_(other),
        lambda v, b: v.set_(leaf(torch, 7.0, 8.0) * 1),
        lambda v, b: v.set_(),
        lambda v, b: v.set_(b),
        lambda v, b: v.set_(other.untyped_storage(), 0, (2,)),
        lambda v, b: v.set_(other).mul_(2),
        lambda v, b: b.set_(other),
    )
    with torch.no_grad():
        quiet = _view_that_moves(torch, lambda v, b: v.set_(other))[1:5]
    return [_view_that_moves(torch, move) for move in moves], quiet


CHANGES_OF_SAVED = """
a.sin_()
a.exp_().exp_()
a.mul_(a)
a.zero_()
a.__setitem__(0, 5.0)
a.__setitem__(a > 0, 5.0)
a.__setitem__(torch.tensor([1]), 5.0)
a[:1].mul_(2)
a.view(-1).mul_(2)
a.t().mul_(2)
a.chunk(1)
a.detach().zero_()
a.data.zero_()
a.detach()[0].zero_()
a.detach().t_().zero_()
a.t_()
a.unsqueeze_(0).zero_()
a.copy_(torch.zeros(2, 2))
a.fill_(7)
a.uniform_()
a.index_add_(0, torch.tensor([0]), torch.ones(1, 2))
a.masked_fill_(a > 0, 3)
a.relu_()
torch.nn.functional.relu(a, inplace=True)
torch.nn.init.zeros_(a)
torch.sin(torch.ones(2, 2), out=a.detach())
torch.cumsum(torch.ones(2, 2), 0, out=a.detach())
torch.split(a, 1)
optimizer("SGD").step()
optimizer("Adam").step()
optimizer("RMSprop").step()
a.resize_(1)
Dirty.apply(a)
torch.no_grad()(a.zero_)()
""".strip().split("\n")


@case
def tape_saved_tensors_that_may_be_changed(torch):
    def run(change):
        x = torch.tensor([[0.5, -1.0], [2.0, 0.3]], requires_grad=True)
        w = torch.tensor([[1.5, 0.5], [-0.5, 2.0]], requires_grad=True)

        def optimizer(name):
            w.grad = torch.ones(2, 2)
            return getattr(torch.optim, name)([w], lr=0.5)

        with torch.autograd.graph.allow_mutation_on_saved_tensors():
            a = x.clone()
            loss = (a * a * w).sum() + (a**3).sum() + a.exp().sum()
            scope = {**vars(functions_of(torch)), "torch": torch, "a": a, "w": w, "optimizer": optimizer}
            eval(change, scope)
            loss.backward(inputs=[x])
        return x.grad

    return {change: err(lambda c=change: run(c)) for change in CHANGES_OF_SAVED}


@case
def tape_views_of_another_dtype(torch):
    x = torch.ones(4, requires_grad=True)
    found = []
    for base in (x, x * 1, torch.ones(4)):
        for name in ("int32", "int16", "bool", "float32", "float16", "float64", "complex64"):
            v = base.view(getattr(torch, name))
            found.append((v.requires_grad, v.is_leaf, v._is_view(), v.grad_fn, v.shape))
    h = x * 1
    h.view(torch.int32).zero_()
    (h * 2).sum().backward()
    return found, h, h._version, x.grad, err(lambda: (x * 1).view(torch.int32).requires_grad_())


@case
def tape_order_in_which_nodes_were_made(torch):
    D, F = torch.distributions, torch.nn.functional
    a = torch.tensor([0.3, 0.5, 0.9], requires_grad=True)
    b = torch.tensor([0.7, 0.2, 0.4], requires_grad=True)
    x = (torch.arange(24.0).reshape(2, 3, 4) / 7).requires_grad_()
    half = torch.full((3,), 0.5)
    found = [
        D.Normal(a, b).log_prob(half),
        D.LogNormal(a, b).log_prob(half),
        F.instance_norm(x, weight=a, bias=b),
        torch.func.grad(lambda t: (t.sin() * t).sum())(a),
        torch.addcdiv(a, a, b),
    ]
    for family in ("Normal", "Laplace", "Gamma", "Beta", "LogNormal", "Gumbel", "Cauchy"):
        found.append(D.kl_divergence(getattr(D, family)(a, b), getattr(D, family)(b + 1, a + 1)))
    found.append(D.kl_divergence(D.Dirichlet(a), D.Dirichlet(b)))
    for name in ("tanh_", "exp_", "sigmoid_", "sqrt_", "expm1_", "tan_", "sin_"):
        p = a * 1
        getattr(p[:2], name)()
        found.append(torch.autograd.grad((p * p).sum(), a, create_graph=True)[0])
    (by_b,) = torch.autograd.grad(found[4].sum(), b, create_graph=True)
    return [(y, dated_graph([y.grad_fn])) for y in (*found, by_b)]


@case
def powers_of_a_vector_are_written_column_by_column(torch):
    found = []
    for args in ((), (1,), (2,), (4, True)):
        x = leaf(torch)
        y = torch.vander(x, *args)
        found.append((y, graph(y), y._version))
        found.append(torch.autograd.grad(y.sum(), x, create_graph=True)[0] if y.requires_grad else None)
    x = torch.tensor([1, 2])
    return found, torch.vander(x, 0), torch.vander(x > 1, 3), err(lambda: torch.vander(x, -1))


def second_order(torch, x, y):
    """The metadata of the nodes of backward nodes behind the gradient of `y` by `x`."""
    (g,) = torch.autograd.grad((y * y).sum(), x, create_graph=True)
    found, waiting = {}, [g.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in found:
            found[node] = [(tuple(m.shape), m.dtype, str(m.device)) for m in node._input_metadata]
            waiting += [target for target, _ in node.next_functions]
    return sorted({(n.name(), repr(rows)) for n, rows in found.items() if "BackwardBackward" in n.name()})


@case
def tape_outputs_that_a_mask_leaves_out_are_undefined(torch):
    functional = torch.nn.functional
    found = []
    for dtype, device in ((torch.float32, "cpu"), (torch.float64, "cpu"), (torch.float64, "meta")):
        options = {"dtype": dtype, "device": device}
        x = torch.ones(2, 4, 3, **options).requires_grad_()
        weight = torch.ones(2, 4, 2, **options).requires_grad_()
        found += [
            second_order(torch, x, functional.layer_norm(x, [3])),
            second_order(torch, x, functional.batch_norm(x, None, None, training=True)),
            second_order(torch, x, functional.conv1d(x, weight.detach())),
            second_order(torch, weight, functional.conv1d(x.detach(), weight)),
        ]
    image = torch.ones(1, 1, 3, 3, requires_grad=True)
    grid = torch.zeros(1, 2, 2, 2, requires_grad=True)
    found.append(second_order(torch, image, functional.grid_sample(image, grid.detach(), align_corners=False)))
    found.append(second_order(torch, grid, functional.grid_sample(image.detach(), grid, align_corners=False)))
    return found


@case
def derivatives_of_picking_keep_the_mask(torch):
    x = leaf(torch)
    (by_x,) = torch.autograd.grad((x[x > 1.5] ** 2).sum(), x, create_graph=True)
    (again,) = torch.autograd.grad((by_x**2).sum(), x, create_graph=True)
    return [(g, list(g.grad_fn._saved_indices), dated_graph([g.grad_fn])) for g in (by_x, again)]


@case
def derivatives_of_an_lstm_run_step_by_step(torch):
    torch.manual_seed(0)
    rnn, x = torch.nn.LSTM(2, 3), torch.ones(2, 1, 2, requires_grad=True)
    output, _ = rnn(x)
    saved = ("mode", "hidden_size", "num_layers", "has_biases", "train", "bidirectional", "batch_first")
    node = output.grad_fn
    (by_x,) = torch.autograd.grad((output**2).sum(), x, create_graph=True)
    return by_x, dated_graph([by_x.grad_fn]), [getattr(node, f"_saved_{name}") for name in saved]


@case
def a_bias_is_added_in_place_where_rows_are_apart(torch):
    layer, x = torch.nn.Linear(3, 2), torch.ones(4, 5, 3)
    return [(layer(x).grad_fn.name(), layer(x)._version) for x in (x, x.transpose(0, 1))]


@case
def packed_sequences_of_one_length_are_computed_as_if_not_packed(torch):
    torch.manual_seed(0)
    rows = []
    for kind in (torch.float32, torch.float64):
        layer = torch.nn.LSTM(2, 2, bidirectional=True).to(kind)
        for lengths in ([2, 2], [1], [2, 1]):
            x = torch.ones(2, len(lengths), 2, dtype=kind, requires_grad=True)
            packed = torch.nn.utils.rnn.pack_padded_sequence(x[: lengths[0]], torch.tensor(lengths))
            output, (_, memory) = layer(packed)
            rows.append((output.data, graph(output.data)[:12], graph(memory)[:12]))
    return rows


@case
def a_weighted_loss_squares_what_two_tensors_differ(torch):
    x, y, weight = leaf(torch), leaf(torch, 0.0, 1.0, 5.0), torch.tensor([1.0, 0.5, 2.0])
    losses = [torch.nn.functional.mse_loss(x, y, reduction=how, weight=weight) for how in ("none", "sum", "mean")]
    return [(loss, graph(loss)) for loss in losses]


@case
def jacobians_by_forward_mode_hang_on_their_inputs(torch):
    x, functional = leaf(torch), torch.autograd.functional
    rows = functional.jacobian(lambda a: a * a.sum(), x, vectorize=True, strategy="forward-mode")
    hessian = functional.hessian(lambda a: (a**3).sum(), x, vectorize=True, outer_jacobian_strategy="forward-mode")
    return [(made, made.stride(), torch.autograd.grad(made.pow(2).sum(), x)) for made in (rows, hessian)]


@case
def a_backward_that_the_script_puts_in_the_place_of_autograds_is_called(torch):
    own, log, x = torch.autograd.backward, [], leaf(torch)
    for replaced in (lambda *args, **named: (log.append(sorted(named)), own(*args, **named))[1], own):
        torch.autograd.backward = replaced
        try:
            (x * x).sum().backward()
        finally:
            torch.autograd.backward = own
    return [len(log), x.grad]

"""Programs on `torch.func` and forward mode, each a function of an engine's namespace; what they return is compared.

`python -m tests.torch.func.record` asks real PyTorch and writes expectations.json; test_func.py asks ours.
"""

import math


def tensor(torch, *shape, seed=0, positive=False, kind="float64"):
    """The same numbers in every engine."""
    count = math.prod(shape)
    values = [math.sin(1.7 * i + seed) + (1.5 if positive else 0) for i in range(count)]
    return torch.tensor(values, dtype=getattr(torch, kind)).reshape(shape)


def net(torch, w, v, x):
    return torch.tanh(x @ w).mul(v).sum(-1)


def grad_of_grad(torch):
    f = torch.func
    return f.grad(f.grad(f.grad(torch.sin)))(torch.tensor(0.3, dtype=torch.float64))


def hessian(torch):
    x = tensor(torch, 3)
    return torch.func.hessian(lambda x: (x.exp() * x.flip(0)).sum())(x)


def hessian_all_ways(torch):
    f, x = torch.func, tensor(torch, 3)

    def value(x):
        return (x.sin() * x.cumsum(0)).prod()

    return [a(b(value))(x) for a in (f.jacrev, f.jacfwd) for b in (f.jacrev, f.jacfwd)]


def third_derivatives(torch):
    f, x = torch.func, tensor(torch, 2)
    return [a(f.hessian(lambda x: (x**4).sum() * x[0]))(x) for a in (f.jacrev, f.jacfwd)]


def softmax_hessian(torch):
    x, w = tensor(torch, 3), tensor(torch, 3, 4, seed=1)
    return torch.func.hessian(lambda x: torch.log_softmax(x @ w, 0)[1])(x)


def vmap_of_grad(torch):
    w, v, x = tensor(torch, 3, 2), tensor(torch, 2, seed=1), tensor(torch, 4, 3, seed=2)
    gradient = torch.func.grad(lambda w, v, x: net(torch, w, v, x) ** 2, argnums=(0, 1))
    return torch.vmap(gradient, in_dims=(None, None, 0))(w, v, x)


def grad_of_vmap(torch):
    w, v, x = tensor(torch, 3, 2), tensor(torch, 2, seed=1), tensor(torch, 4, 3, seed=2)
    each = torch.vmap(lambda w, x: net(torch, w, v, x), in_dims=(None, 0))
    return torch.func.grad(lambda w: each(w, x).sum())(w)


def vmap_of_vmap_of_grad(torch):
    x, y = tensor(torch, 3), tensor(torch, 4, seed=1)
    gradient = torch.func.grad(lambda x, y: (x * y).sin() * x)
    return torch.vmap(torch.vmap(gradient, (None, 0)), (0, None))(x, y)


def vmap_of_jvp(torch):
    x, t = tensor(torch, 4, 3), tensor(torch, 4, 3, seed=1)
    return torch.vmap(lambda x, t: torch.func.jvp(lambda x: torch.softmax(x, 0) * x, (x,), (t,)))(x, t)


def jvp_of_vmap(torch):
    x, t = tensor(torch, 4, 3), tensor(torch, 4, 3, seed=1)
    return torch.func.jvp(torch.vmap(lambda x: torch.softmax(x, 0) * x), (x,), (t,))


def vmap_of_hessian(torch):
    x = tensor(torch, 4, 3)
    return torch.vmap(torch.func.hessian(lambda x: (x**3).sum() * x[0]))(x)


def jvp_of_grad(torch):
    x, t = tensor(torch, 3), tensor(torch, 3, seed=1)
    return torch.func.jvp(torch.func.grad(lambda x: (x.exp() * x.sin()).sum()), (x,), (t,))


def grad_of_jvp(torch):
    x, t = tensor(torch, 3), tensor(torch, 3, seed=1)
    along = lambda x, t: torch.func.jvp(lambda x: (x.exp() * x.sin()).sum(), (x,), (t,))[1]  # noqa: E731
    return torch.func.grad(along, argnums=(0, 1))(x, t)


def jvp_of_jvp(torch):
    x, t = tensor(torch, 3), tensor(torch, 3, seed=1)
    inner = lambda x: torch.func.jvp(lambda x: torch.sigmoid(x) * x.sum(), (x,), (t,))[1]  # noqa: E731
    return torch.func.jvp(inner, (x,), (t,))


def jvp_of_jvp_of_jvp(torch):
    f = torch.sin
    for _ in range(3):
        f = (lambda g: lambda x: torch.func.jvp(g, (x,), (torch.ones_like(x),))[1])(f)
    return f(torch.tensor(0.3, dtype=torch.float64))


def perturbations_stay_apart(torch):
    one = torch.tensor(1.0, dtype=torch.float64)
    x = torch.tensor(2.0, dtype=torch.float64)
    inner = lambda x: x * torch.func.jvp(lambda y: x + y, (one,), (one,))[1]  # noqa: E731
    return torch.func.jvp(inner, (x,), (one,))


def grad_of_captured(torch):
    x = torch.tensor(2.0, dtype=torch.float64)
    return torch.func.grad(lambda x: x * torch.func.grad(lambda y: x * y * y)(x))(x)


def vjp_of_tree(torch):
    a, b = tensor(torch, 2), tensor(torch, 2, seed=1)
    value, pull = torch.func.vjp(lambda d: {"p": d["a"] * d["b"], "s": (d["a"].sum(), d["b"])}, {"a": a, "b": b})
    return value, pull({"p": a, "s": (a[0], b)})


def vjp_many_times(torch):
    x = tensor(torch, 3)
    _, pull = torch.func.vjp(lambda x: torch.softmax(x, 0), x)
    return torch.vmap(pull)(torch.eye(3, dtype=torch.float64)), pull(x), pull(x * 2)


def jacobian_of_layer(torch):
    x, w = tensor(torch, 2, 3), tensor(torch, 3, 2, seed=1)
    layer = lambda x, w: torch.nn.functional.layer_norm(x @ w, (2,)).relu()  # noqa: E731
    return [j(layer, argnums=(0, 1))(x, w) for j in (torch.func.jacrev, torch.func.jacfwd)]


def jacobian_of_convolution(torch):
    x, w = tensor(torch, 1, 2, 4, 4), tensor(torch, 2, 2, 3, 3, seed=1)
    return [j(torch.nn.functional.conv2d, argnums=1)(x, w) for j in (torch.func.jacrev, torch.func.jacfwd)]


def jacobian_in_chunks(torch):
    x = tensor(torch, 5)
    return [torch.func.jacrev(lambda x: x.cumsum(0).exp(), chunk_size=n)(x) for n in (None, 1, 2, 5, 9)]


def jacobian_of_attention(torch):
    q = tensor(torch, 1, 3, 2)
    attend = lambda q: torch.nn.functional.scaled_dot_product_attention(q, q * 2, q + 1)  # noqa: E731
    return [j(attend)(q) for j in (torch.func.jacrev, torch.func.jacfwd)]


def jacobian_of_decompositions(torch):
    a = tensor(torch, 3, 3, positive=True) + 3 * torch.eye(3, dtype=torch.float64)
    fs = [
        torch.linalg.inv,
        torch.linalg.det,
        lambda a: torch.linalg.cholesky(a @ a.mT),
        lambda a: torch.linalg.qr(a).R,
        torch.linalg.svdvals,
        lambda a: torch.linalg.eigvalsh(a + a.mT),
        torch.linalg.matrix_exp,
    ]
    return [j(f)(a) for f in fs for j in (torch.func.jacrev, torch.func.jacfwd)]


def linearized(torch):
    x = tensor(torch, 3)
    value, push = torch.func.linearize(lambda x: torch.softmax(x, 0) * x.norm(), x)
    return value, push(x), push(x.cos())


def linearized_tree(torch):
    x, y = tensor(torch, 3), tensor(torch, 3, seed=1)
    value, push = torch.func.linearize(lambda x, y: {"p": x * y, "s": x.sum()}, x, y)
    return value, push(y, x)


def per_sample_gradients(torch):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2)).double()
    parameters = {name: tensor(torch, *p.shape, seed=i) for i, (name, p) in enumerate(model.named_parameters())}
    x, y = tensor(torch, 5, 3), torch.tensor([0, 1, 1, 0, 1])

    def loss(parameters, x, y):
        out = torch.func.functional_call(model, parameters, (x.unsqueeze(0),))
        return torch.nn.functional.cross_entropy(out, y.unsqueeze(0))

    return torch.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(parameters, x, y)


def per_sample_gradients_of_images(torch):
    w = {"w": tensor(torch, 2, 1, 3, 3), "b": tensor(torch, 2, seed=1)}
    x = tensor(torch, 3, 1, 4, 4, seed=2)

    def loss(w, x):
        return (
            torch.nn.functional.max_pool2d(torch.nn.functional.conv2d(x[None], w["w"], w["b"]).relu(), 2)
            .square()
            .mean()
        )

    return torch.vmap(torch.func.grad(loss), in_dims=(None, 0))(w, x)


def ensemble(torch):
    torch.manual_seed(0)
    models = [torch.nn.Linear(2, 2).double() for _ in range(3)]
    for i, m in enumerate(models):
        m.weight.data.copy_(tensor(torch, 2, 2, seed=i))
        m.bias.data.copy_(tensor(torch, 2, seed=i))
    parameters, buffers = torch.func.stack_module_state(models)
    call = lambda p, b, x: torch.func.functional_call(models[0], (p, b), (x,))  # noqa: E731
    return torch.vmap(call, in_dims=(0, 0, None))(parameters, buffers, tensor(torch, 4, 2))


def newton_step(torch):
    f = lambda x: (x[0] - 1) ** 4 + (x[1] + 2) ** 2 * x[0] ** 2  # noqa: E731
    x = tensor(torch, 2, positive=True)
    return x - torch.linalg.solve(torch.func.hessian(f)(x), torch.func.grad(f)(x))


def inner_loop(torch):
    """A gradient through two steps of gradient descent."""
    x = tensor(torch, 3)

    def tuned(rate):
        w = torch.ones(3, dtype=torch.float64)
        for _ in range(2):
            w = w - rate * torch.func.grad(lambda w: ((w - x) ** 4).sum())(w)
        return ((w - x) ** 2).sum()

    return torch.func.grad_and_value(tuned)(torch.tensor(0.01, dtype=torch.float64))


def in_place_within(torch):
    x, t = tensor(torch, 4), tensor(torch, 4, seed=1)

    def f(x):
        y = torch.zeros(4, dtype=torch.float64)
        y[1:] = x[:3] * 2
        z = x.clone()
        z[::2] *= y[1:3]
        z.view(2, 2)[0].add_(y[2:])
        z += x.sin()
        y = (z * y).clamp_(min=-0.5)
        return y, z

    return torch.func.jvp(f, (x,), (t,)), [j(f)(x) for j in (torch.func.jacrev, torch.func.jacfwd)]


def without_grad_within(torch):
    def f(x):
        with torch.no_grad():
            y = x * 3
        return (x * y).sum()

    x, t = tensor(torch, 3), tensor(torch, 3, seed=1)
    return torch.func.grad(f)(x), torch.func.jvp(f, (x,), (t,))


def outside_grad(torch):
    x = tensor(torch, 3).requires_grad_()
    g = torch.func.grad(lambda x: (x**3).sum())(x)
    h = torch.func.jvp(lambda x: x**3, (x,), (torch.ones(3, dtype=torch.float64),))[1]
    return g.requires_grad, h.requires_grad, torch.autograd.grad((g + h).sum(), x)


def dual_numbers(torch):
    forward = torch.autograd.forward_ad
    x, t = tensor(torch, 2, 3), tensor(torch, 2, 3, seed=1)
    with forward.dual_level():
        d = forward.make_dual(x, t)
        results = [
            d.sin(), d.T @ d, d.sum(1), d.max(0).values, d.view(3, 2)[1:], torch.cat([d, x]), d.argmax(1), d.detach(),
        ]  # fmt: skip
        return [tuple(forward.unpack_dual(r)) for r in results]


def forward_over_backward(torch):
    forward = torch.autograd.forward_ad
    x, t = tensor(torch, 3).requires_grad_(), tensor(torch, 3, seed=1)
    with forward.dual_level():
        d = forward.make_dual(x, t)
        y = (d.exp() * d).sum()
        (g,) = torch.autograd.grad(y, d, create_graph=True)
        (h,) = torch.autograd.grad(y, x)
        return [forward.unpack_dual(y).tangent, forward.unpack_dual(g).tangent, forward.unpack_dual(h).tangent]


def by_an_intermediate(torch):
    """The result that `exp` saves is not a second way to its own gradient."""
    forward = torch.autograd.forward_ad
    x, t = tensor(torch, 3).requires_grad_(), tensor(torch, 3, seed=1)
    with forward.dual_level():
        h = forward.make_dual(x, t).exp()
        (g,) = torch.autograd.grad((h**3).sum(), h)
        return tuple(forward.unpack_dual(g))


def custom_function(torch):
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(x, k):
            return x**3 * k

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(inputs[0])
            ctx.save_for_forward(inputs[0])
            ctx.k = inputs[1]

        @staticmethod
        def backward(ctx, g):
            return g * 3 * ctx.saved_tensors[0] ** 2 * ctx.k, None

        @staticmethod
        def jvp(ctx, t, _):
            return t * 3 * ctx.saved_tensors[0] ** 2 * ctx.k

    f, x, t = torch.func, tensor(torch, 3), tensor(torch, 3, seed=1)
    cube = lambda x: Cube.apply(x, 2)  # noqa: E731
    return [
        f.jvp(cube, (x,), (t,)),
        f.jvp(f.grad(lambda x: cube(x).sum()), (x,), (t,)),
        f.grad(lambda x: f.jvp(cube, (x,), (t,))[1].sum())(x),
    ]


def is_grads_batched(torch):
    x = tensor(torch, 3).requires_grad_()
    y = torch.softmax(x, 0)
    return torch.autograd.grad(y, x, torch.eye(3, dtype=torch.float64), is_grads_batched=True)


def functional_vectorized(torch):
    g, x, y = torch.autograd.functional, tensor(torch, 3), tensor(torch, 3, seed=1)
    f = lambda x, y: ((x * y).cumsum(0), x.sum())  # noqa: E731
    return [
        g.jacobian(f, (x, y), vectorize=True),
        g.jacobian(f, (x, y), vectorize=True, strategy="forward-mode"),
        g.hessian(lambda x: (x**3).prod(), x, vectorize=True),
        g.hessian(lambda x: (x**3).prod(), x, vectorize=True, outer_jacobian_strategy="forward-mode").detach(),
    ]


def complex_jvp(torch):
    z, t = tensor(torch, 3) * (1 + 2j), tensor(torch, 3, seed=1) * (2 - 1j)
    fs = [
        lambda z: z * z.conj(), torch.abs, torch.angle, torch.exp, torch.sgn, lambda z: torch.fft.fft(z).real,
        lambda z: z / z.abs(),
    ]  # fmt: skip
    return [torch.func.jvp(f, (z,), (t,)) for f in fs]


def recurrent(torch):
    w, x = tensor(torch, 3, 3), tensor(torch, 4, 3, seed=1)

    def last(w):
        h = torch.zeros(3, dtype=torch.float64)
        for row in x:
            h = torch.tanh(h @ w + row)
        return h

    return torch.func.jacrev(last)(w), torch.func.jacfwd(last)(w)


CASES = {
    name: case
    for name, case in list(globals().items())
    if callable(case) and case.__module__ == __name__ and name not in ("tensor", "net")
}

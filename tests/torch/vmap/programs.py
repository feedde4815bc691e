"""Classic uses of `vmap`, each a function of an engine's namespace; what they return is compared with PyTorch's."""

import copy


def perceptron(torch):
    torch.manual_seed(0)
    nn = torch.nn
    return (
        nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3)),
        torch.randn(6, 4),
        torch.tensor([0, 1, 2, 0, 1, 2]),
    )


def detached(module):
    return {name: p.detach() for name, p in module.named_parameters()}


def loss_of(torch, net):
    def loss(params, x, y):
        return torch.nn.functional.cross_entropy(torch.func.functional_call(net, params, (x[None],)), y[None])

    return loss


def per_sample_gradients(torch):
    net, x, y = perceptron(torch)
    return torch.vmap(torch.func.grad(loss_of(torch, net)), (None, 0, 0))(detached(net), x, y)


def per_sample_gradients_in_chunks(torch):
    net, x, y = perceptron(torch)
    run = torch.func.vmap(torch.func.grad_and_value(loss_of(torch, net)), (None, 0, 0), chunk_size=4)
    return run(detached(net), x, y)


def per_sample_gradients_of_a_convolutional_network(torch):
    torch.manual_seed(0)
    nn = torch.nn
    net = nn.Sequential(
        nn.Conv2d(1, 3, 3, padding=1),
        nn.GroupNorm(1, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(3, 4, 3, bias=False),
        nn.ReLU(),
        nn.Flatten(),
        nn.Dropout(0.5),
        nn.Linear(16, 3),
    )
    x, y = torch.randn(5, 1, 8, 8), torch.tensor([0, 1, 0, 2, 1])
    run = lambda how: torch.vmap(torch.func.grad(loss_of(torch, net)), (None, 0, 0), randomness=how)  # noqa: E731
    found = []
    for how in ("same", "different"):
        torch.manual_seed(1)
        found.append(run(how)(detached(net), x, y))
    return found


def ensemble(torch):
    nets = [perceptron(torch)[0] for _ in range(3)]
    for i, net in enumerate(nets):
        for p in net.parameters():
            p.data.mul_(i + 1)
    params, buffers = torch.func.stack_module_state(nets)
    x = torch.randn(3, 2, 4)
    run = lambda p, b, x: torch.func.functional_call(nets[0], (p, b), (x,))  # noqa: E731
    return torch.vmap(run, (0, 0, None))(params, buffers, x[0]), torch.vmap(run)(params, buffers, x)


def ensemble_with_running_statistics(torch):
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2))
    params, buffers = torch.func.stack_module_state([copy.deepcopy(net) for _ in range(2)])
    x = torch.randn(2, 3, 1, 5, 5)
    out = torch.vmap(lambda p, b, x: torch.func.functional_call(net, (p, b), (x,)))(params, buffers, x)
    return out, buffers


def shared_running_statistics_are_refused(torch):
    net = torch.nn.BatchNorm1d(2)
    try:
        torch.vmap(net)(torch.randn(3, 4, 2))
    except RuntimeError as error:
        return str(error).partition(".")[0]


def running_statistics_are_read(torch):
    net = torch.nn.BatchNorm1d(2).eval()
    torch.manual_seed(0)
    return torch.vmap(net)(torch.randn(3, 4, 2))


def jacobians_of_samples(torch):
    net, x, _ = perceptron(torch)
    run = lambda p, x: torch.func.functional_call(net, p, (x,))  # noqa: E731
    by_weights = torch.vmap(torch.func.jacrev(run), (None, 0))(detached(net), x)
    return by_weights, torch.vmap(torch.func.jacfwd(run, argnums=1), (None, 0))(detached(net), x)


def hessian_vector_products(torch):
    net, x, y = perceptron(torch)
    loss, params = loss_of(torch, net), detached(net)
    by_input = lambda x, y, v: torch.func.jvp(torch.func.grad(lambda x: loss(params, x, y)), (x,), (v,))[1]  # noqa: E731
    return torch.vmap(by_input)(x, y, x.cos())


def one_step_of_learning_to_learn(torch):
    net, x, y = perceptron(torch)
    loss = loss_of(torch, net)

    def after_a_step(params, x, y):
        gradient = torch.func.grad(loss)(params, x, y)
        return loss({k: p - 0.1 * gradient[k] for k, p in params.items()}, x, y)

    return torch.func.grad(lambda p: torch.vmap(after_a_step, (None, 0, 0))(p, x, y).mean())(detached(net))


def attention(torch):
    torch.manual_seed(0)
    layer = torch.nn.MultiheadAttention(4, 2, batch_first=True).eval()
    return torch.vmap(lambda x: layer(x, x, x)[0])(torch.randn(3, 5, 4))


def recurrent(torch):
    torch.manual_seed(0)
    layer = torch.nn.LSTM(3, 4, batch_first=True)
    run = lambda p, x: torch.func.functional_call(layer, p, (x[None],))[0].sum()  # noqa: E731
    return torch.vmap(torch.func.grad(run), (None, 0))(detached(layer), torch.randn(3, 5, 3))


def embedding(torch):
    torch.manual_seed(0)
    layer = torch.nn.Embedding(7, 3, padding_idx=2)
    run = lambda p, i: torch.func.functional_call(layer, p, (i,)).sin().sum()  # noqa: E731
    return torch.vmap(torch.func.grad(run), (None, 0))(detached(layer), torch.tensor([[0, 1, 1], [2, 6, 0]]))


def changes_in_place(torch):
    def run(v):
        z = torch.zeros_like(v)
        z[1:] = v[:-1] * 2
        z += v
        z[0] = v.sum()
        return z

    x = torch.arange(6.0).reshape(2, 3)
    written = x.clone()
    torch.vmap(lambda v: v.mul_(2), in_dims=1)(written)
    return torch.vmap(run)(x), torch.vmap(torch.func.grad(lambda v: run(v).pow(2).sum()))(x), written


def tape_outside(torch):
    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    y = torch.vmap(lambda v: (v.sin() * v.sum()).cumsum(0))(x)
    (first,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    return y, first, torch.autograd.grad(first.pow(2).sum(), x)[0]


# ---------------------------------------------------------------- custom Functions


def functions(torch):
    """A Function with a generated rule, one with its own, and what `vmap` told that one."""
    told = []

    class Scaled(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x, y, k):
            return x * y * k, x + y

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs[:2])
            ctx.k = inputs[2]
            ctx.mark_non_differentiable(output[1])

        @staticmethod
        def backward(ctx, grad, _):
            x, y = ctx.saved_tensors
            return grad * y * ctx.k, grad * x * ctx.k, None

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(x, y):
            return x * y

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, grad):
            x, y = ctx.saved_tensors
            return Product.apply(grad, y), Product.apply(grad, x)

        @staticmethod
        def vmap(info, in_dims, x, y):
            told.append([info.batch_size, info.randomness, list(in_dims)])
            x, y = (t if d is None else t.movedim(d, 0) for t, d in zip((x, y), in_dims, strict=True))
            return Product.apply(x, y), 0

    return Scaled, Product, told


def custom_functions(torch):
    scaled, product, told = functions(torch)
    grad, vmap = torch.func.grad, torch.vmap
    x, y = torch.arange(6.0).reshape(2, 3) - 2, torch.tensor([0.5, 2.0, 3.0])
    found = [
        vmap(scaled.apply, (0, None, None))(x, y, 3.0),
        vmap(grad(lambda y, x: scaled.apply(x, y, 3.0)[0].pow(2).sum()), (None, 0))(y, x),
        grad(lambda y: vmap(scaled.apply, (0, None, None))(x, y, 3.0)[0].pow(2).sum())(y),
        vmap(grad(lambda x: grad(lambda x: scaled.apply(x * x, y, 2.0)[0].sum())(x).sum()))(x),
        vmap(vmap(scaled.apply, (0, 0, None)), (0, None, None))(x, y, 2.0),
        vmap(product.apply, (0, None), randomness="same")(x, y),
        vmap(grad(lambda x: product.apply(x, y).pow(2).sum()))(x),
    ]
    return found, told[0]


def refused_functions(torch):
    scaled, product, _ = functions(torch)

    class Both(product):
        generate_vmap_rule = True

    class Neither(scaled):
        generate_vmap_rule = False

    class Old(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x * y

    class Wrong(product):
        vmap = staticmethod(lambda info, in_dims, x, y: x)

    class Crooked(product):
        vmap = staticmethod(lambda info, in_dims, x, y: (x, (0, 0)))

    found = []
    for kind in (Both, Neither, Old, Wrong, Crooked):
        try:
            rest = (2.0,) if kind is Neither else ()
            torch.vmap(lambda x, kind=kind, rest=rest: kind.apply(x, x, *rest))(torch.ones(2, 3))
        except RuntimeError as error:
            found.append(str(error).partition(". ")[0])
    return found


PROGRAMS = {
    p.__name__: p
    for p in (
        per_sample_gradients,
        per_sample_gradients_in_chunks,
        per_sample_gradients_of_a_convolutional_network,
        ensemble,
        ensemble_with_running_statistics,
        shared_running_statistics_are_refused,
        running_statistics_are_read,
        jacobians_of_samples,
        hessian_vector_products,
        one_step_of_learning_to_learn,
        attention,
        recurrent,
        embedding,
        changes_in_place,
        tape_outside,
        custom_functions,
        refused_functions,
    )
}

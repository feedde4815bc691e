"""What scripts do with autocast and scaled losses: functions of an engine that give plain data, the same for PyTorch."""

import pickle
import threading
import warnings
from typing import Any


def names(tensor: Any) -> list[str]:
    """The names of the nodes, breadth first."""
    nodes = [tensor.grad_fn]
    for node in nodes:
        nodes += [target for target, _ in node.next_functions if target is not None and target not in nodes]
    found = dict.fromkeys(nodes)
    return [node.name().rpartition("::")[2] for node in found]


def outcome(run: Any) -> str:
    try:
        return str(run())
    except Exception as error:
        return f"{type(error).__name__}: {error}".partition("\n")[0]


def leaves(torch: Any) -> Any:
    torch.manual_seed(0)
    return torch.randn(3, 4), torch.randn(5, 4, requires_grad=True), torch.randn(5, requires_grad=True)


def casts_are_kept_for_leaves(torch: Any) -> Any:
    F = torch.nn.functional
    x, w, b = leaves(torch)
    p = torch.nn.Parameter(torch.randn(4, 4))
    found = []
    for options in ({}, {"cache_enabled": False}):
        with torch.autocast("cpu", torch.bfloat16, **options):
            found += [names(F.linear(x, w, b) + F.linear(x, w, b)), names(p @ p + p @ p)]
    with torch.autocast("cpu", torch.bfloat16):
        with torch.no_grad():
            F.linear(x, w, b)
        found += [names(F.linear(x, w, b)), names(w.view(4, 5) @ w + w.view(4, 5) @ w)]
        with torch.autocast("cpu", torch.float16):
            found += [outcome(lambda: w @ w.t()), names(p.detach() @ p.detach().requires_grad_())]
        with torch.inference_mode():
            found.append((w @ w.t()).requires_grad)
    with torch.autocast("cpu", torch.bfloat16):
        found.append(names(F.linear(x, w, b)))
    return found


def backward_inside_a_region_chooses_dtypes_too(torch: Any) -> Any:
    F = torch.nn.functional
    torch.manual_seed(0)
    a, found = torch.randn(3, 3, requires_grad=True), []
    runs = [
        lambda: a @ a,
        lambda: torch.linalg.inv(a),
        lambda: a.prod(),
        lambda: torch.cdist(a, a + 1),
        lambda: F.mse_loss(a, a * 2),
        lambda: F.scaled_dot_product_attention(a, a, a),
        lambda: F.conv1d(a[None], a[:, :, None]),
    ]
    for run in runs:
        y = run().sum()
        with torch.autocast("cpu", torch.bfloat16):
            (inside,) = torch.autograd.grad(y, a, retain_graph=True)
            (again,) = torch.autograd.grad(y, a, create_graph=True)
        (outside,) = torch.autograd.grad(y, a, retain_graph=True)
        near = bool((inside - outside).abs().max() < 1e-6)
        found.append([near, str(inside.dtype), names(again), torch.equal(inside, again)])
    with torch.autocast("cpu", torch.bfloat16):
        y = (a @ a).float().sum()
        y.backward()
    return [*found, str(a.grad.dtype)]


def transforms_see_regions(torch: Any) -> Any:
    F, func = torch.nn.functional, torch.func
    x, w, _ = leaves(torch)
    with torch.autocast("cpu", torch.bfloat16):
        found = [
            func.grad(lambda w: (x @ w.t()).float().sum())(w),
            func.jvp(lambda v: v @ w.t(), (x,), (x,))[1],
            func.vmap(lambda v: w @ v)(x),
            func.vmap(lambda v: torch.cat([v.bfloat16(), v]))(x),
            func.vmap(lambda v: F.mse_loss(v.bfloat16(), v))(x),
            func.hessian(lambda v: (v @ v).float() * 1.0)(x[0]),
            func.jacrev(lambda v: w @ v)(x[0]),
        ]
    return [str(t.dtype) for t in found]


def custom_functions_run_as_their_forward_did(torch: Any) -> Any:
    x, w, _ = leaves(torch)
    seen: list[Any] = []

    def backward(ctx: Any, g: Any) -> Any:
        x, w = ctx.saved_tensors
        seen.append([torch.is_autocast_enabled("cpu"), str(g.dtype), str(x.dtype), str((g @ w.to(g.dtype)).dtype)])
        return g @ w.to(g.dtype), g.t() @ x.to(g.dtype)

    def forward(ctx: Any, x: Any, w: Any) -> Any:
        ctx.save_for_backward(x, w)
        seen.append([torch.is_autocast_enabled("cpu"), str(x.dtype)])
        return x @ w.t()

    fwd, bwd = torch.amp.custom_fwd, torch.amp.custom_bwd
    kinds = [
        (forward, backward),
        (fwd(forward, device_type="cpu"), bwd(backward, device_type="cpu")),
        (fwd(device_type="cpu", cast_inputs=torch.float32)(forward), bwd(device_type="cpu")(backward)),
    ]
    for forward_, backward_ in kinds:
        made = type(
            "Product",
            (torch.autograd.Function,),
            {"forward": staticmethod(forward_), "backward": staticmethod(backward_)},
        )
        with torch.autocast("cpu", torch.bfloat16):
            y = made.apply(x.bfloat16(), w)
            y.float().sum().backward(retain_graph=True)
        y.float().sum().backward()
        seen.append([str(y.dtype), names(y)])
        y = made.apply(x, w)
        with torch.autocast("cpu", torch.bfloat16):
            y.sum().backward()
    return [*seen, str(w.grad.dtype)]


def checkpoints_run_again_in_the_region(torch: Any) -> Any:
    import importlib

    checkpoint = importlib.import_module(f"{torch.__name__}.utils.checkpoint").checkpoint
    x, w, b = leaves(torch)
    found = []
    for reentrant in (True, False):
        seen = []

        def run(x: Any, seen: Any = seen) -> Any:
            seen.append(
                [
                    torch.is_autocast_enabled("cpu"),
                    str(torch.get_autocast_dtype("cpu")),
                    torch.is_autocast_cache_enabled(),
                ]
            )
            return torch.nn.functional.linear(x.tanh(), w, b).relu()

        given = x.clone().requires_grad_()
        with torch.autocast("cpu", torch.bfloat16, cache_enabled=False):
            y = checkpoint(run, given, use_reentrant=reentrant)
        y.float().sum().backward()
        found += [seen, str(y.dtype), str(given.grad.dtype), names(y)]
    return found


def layers_in_a_region(torch: Any) -> Any:
    nn = torch.nn
    x = leaves(torch)[0]
    found: list[Any] = []
    with torch.autocast("cpu"):
        for layer in (nn.RNN(4, 3), nn.LSTM(4, 3), nn.GRU(4, 3)):
            y = layer(x[:, None])[0]
            found.append([str(y.dtype), names(y)])
        h, c = nn.LSTMCell(4, 3)(x)
        attention = nn.MultiheadAttention(4, 2)
        y, weights = attention(x[:, None], x[:, None], x[:, None])
        z, _ = attention(x[:, None], x[:, None], x[:, None], need_weights=False)
        encoder = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0)
        e = encoder(x[:, None])
        found += [[str(t.dtype), names(t)] for t in (h, c, y, z, e)] + [str(weights.dtype)]
        encoder.eval()
        with torch.no_grad():
            found.append(str(encoder(x[:, None]).dtype))
        found.append(str(nn.Embedding(5, 4)(torch.tensor([1, 2])).dtype))
        found.append(str(nn.Conv2d(1, 2, 2, padding=1, padding_mode="reflect")(x[None, None]).dtype))
    return found


def regions_nest_and_end(torch: Any) -> Any:
    x = leaves(torch)[0]
    found: list[Any] = []

    def state() -> list[Any]:
        return [
            torch.is_autocast_enabled("cpu"),
            torch.is_autocast_enabled(),
            str(torch.get_autocast_dtype("cpu")),
            torch.is_autocast_cache_enabled(),
            str((x @ x.t()).dtype),
        ]

    @torch.autocast("cpu", enabled=False)
    def without(x: Any) -> Any:
        return x @ x.t()

    @torch.autocast("cpu", dtype=torch.float16)
    def half(x: Any) -> Any:
        return [str((x @ x.t()).dtype), str(without(x).dtype)]

    found += [state(), half(x), half.__name__]
    with torch.autocast("cpu"):
        found.append(state())
        with torch.autocast("cpu", enabled=False, cache_enabled=False):
            found.append(state())
        with torch.autocast("cpu", torch.float16):
            found += [state(), outcome(lambda: (x.bfloat16() @ x.t()).dtype)]
        found += [state(), half(x)]
        thread = threading.Thread(target=lambda: found.append(state()))
        thread.start()
        thread.join()
        found.append(str(torch.mm(x, x.t(), out=torch.empty(3, 3)).dtype))
        meta = torch.empty(3, 3, device="meta")
        found.append([str((meta @ meta).dtype), str((x.double() @ x.double().t()).dtype)])
    try:
        with torch.autocast("cpu"):
            raise ValueError
    except ValueError:
        found.append(state())
    torch.set_autocast_enabled("cpu", True)
    torch.set_autocast_dtype("cpu", torch.float16)
    found.append(state())
    torch.set_autocast_enabled("cpu", False)
    torch.set_autocast_dtype("cpu", torch.bfloat16)
    found += [torch.autocast_increment_nesting(), torch.autocast_decrement_nesting(), state()]
    return found


def questions_and_refusals(torch: Any) -> Any:
    amp = torch.amp
    runs = [
        *(lambda d=d: amp.is_autocast_available(d) for d in ("cpu", "cuda", "mps", "xpu", "meta")),
        *(lambda d=d: torch.get_autocast_dtype(d) for d in ("cpu", "cuda", "mps", "xpu", "meta")),
        lambda: torch.autocast("cpu")(3),
        lambda: torch.set_autocast_enabled("cpu"),
        lambda: torch.get_autocast_dtype(None),
        lambda: torch.is_autocast_enabled("meta"),
        lambda: amp.custom_fwd(device_type=3),
        lambda: amp.custom_bwd(device_type=3),
        lambda: amp.GradScaler("cpu", growth_factor=1.0),
        lambda: amp.GradScaler("cpu", backoff_factor=1.0),
    ]
    warned = []
    for run in (
        lambda: torch.autocast("cuda"),
        lambda: torch.autocast("cpu", torch.float32),
        lambda: amp.GradScaler(),
        lambda: torch.cpu.amp.autocast(),
        lambda: torch.cpu.amp.GradScaler(),
        lambda: torch.is_autocast_cpu_enabled(),
        lambda: torch.get_autocast_gpu_dtype(),
        lambda: torch.set_autocast_cpu_enabled(False),
        lambda: torch.set_autocast_cpu_dtype(torch.bfloat16),
        lambda: torch.get_autocast_cpu_dtype(),
    ):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            run()
        warned += [[w.category.__name__, str(w.message).partition(" (Triggered")[0]] for w in caught]
    return [outcome(run) for run in runs] + warned


def a_model_learns(torch: Any) -> Any:
    torch.manual_seed(0)
    nn, x = torch.nn, torch.randn(6, 4)
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))
    optimizer, scaler = (
        torch.optim.SGD(model.parameters(), lr=0.1),
        torch.amp.GradScaler("cpu", init_scale=4.0, growth_interval=2),
    )
    found = []
    for _ in range(3):
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16):
            loss = nn.functional.cross_entropy(model(x), torch.tensor([0, 1, 0, 1, 1, 0]))
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        found.append([float(f"{loss.item():.2g}"), str(loss.dtype), scaler.get_scale()])
    return [*found, scaler.state_dict()]


def losses_are_scaled(torch: Any) -> Any:
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=1)
    w = torch.ones(2, requires_grad=True)
    optimizer, found = torch.optim.SGD([w], lr=0.5), []
    tell = found.append
    tell([outcome(lambda: scaler.step(optimizer)), outcome(scaler.update), scaler.state_dict()])
    tell(str(scaler.scale([torch.ones(1), (torch.ones(2, dtype=torch.bfloat16),)])))
    tell([outcome(lambda: scaler.scale(3)), outcome(lambda: pickle.loads(pickle.dumps(scaler)).state_dict())])
    scaler.scale((w * 2).sum()).backward()
    tell(w.grad.tolist())
    scaler.unscale_(optimizer)
    tell([w.grad.tolist(), outcome(lambda: scaler.unscale_(optimizer)), outcome(lambda: pickle.dumps(scaler))])
    scaler.step(optimizer)
    tell(
        [
            w.tolist(),
            outcome(lambda: scaler.step(optimizer)),
            outcome(lambda: scaler.unscale_(optimizer)),
            outcome(scaler.update),
        ]
    )
    tell([str(scaler._scale), str(scaler._growth_tracker), outcome(scaler.update)])
    scaler.scale((w * torch.tensor([1.0, float("inf")])).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    tell([w.tolist(), scaler.get_scale(), scaler._get_growth_tracker()])
    for given in (3.0, torch.tensor(4.0), torch.tensor([4.0]), 3, torch.ones(2), torch.tensor(1.0, requires_grad=True)):
        tell([outcome(lambda given=given: scaler.update(given)), scaler.get_scale()])
    tell(outcome(lambda: scaler.step(optimizer, closure=lambda: 0)))
    narrow = torch.ones(2, requires_grad=True, dtype=torch.half)
    narrow.grad = torch.ones_like(narrow)
    tell(outcome(lambda: scaler.unscale_(torch.optim.SGD([narrow], lr=0.1))))
    scaler.set_growth_factor(3.0)
    scaler.set_backoff_factor(0.25)
    scaler.set_growth_interval(7)
    other = torch.amp.GradScaler("cpu")
    other.load_state_dict(scaler.state_dict())
    tell([other.state_dict(), other.is_enabled(), outcome(lambda: other.load_state_dict({}))])
    big = torch.amp.GradScaler("cpu", init_scale=2.0**127, growth_interval=1)
    w.grad = None
    big.scale((w * 2).sum() * 2.0**-127).backward()
    big.step(optimizer)
    big.update()
    tell([big.get_scale(), big._get_growth_tracker()])
    silent = torch.amp.GradScaler("cuda", enabled=False)
    tell(
        [
            silent.scale(3),
            silent.state_dict(),
            silent.get_scale(),
            outcome(lambda: silent.step(optimizer)),
            outcome(silent.update),
        ]
    )
    return found


SCENARIOS = {
    run.__name__.replace("_", " "): run
    for run in (
        casts_are_kept_for_leaves,
        backward_inside_a_region_chooses_dtypes_too,
        transforms_see_regions,
        custom_functions_run_as_their_forward_did,
        checkpoints_run_again_in_the_region,
        layers_in_a_region,
        regions_nest_and_end,
        questions_and_refusals,
        a_model_learns,
        losses_are_scaled,
    )
}

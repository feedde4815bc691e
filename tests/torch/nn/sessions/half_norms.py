# ruff: noqa: F821  (names are given by record_sessions.py)
F = nn.functional
KINDS = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32, None: None}


def of(kind, size, value):
    return None if kind is None else torch.full((size,), value, dtype=KINDS[kind], requires_grad=value == 2.0)


def saved(node):
    while not hasattr(node, "_saved_result1"):
        node = node.next_functions[0][0]
    return [getattr(node, f"_saved_{name}").dtype for name in ("result1", "result2")]


def told(y, weight, *running):
    y.sum().backward(retain_graph=True)
    print(y.dtype, *saved(y.grad_fn), "weight.grad", None if weight is None else weight.grad.dtype)
    if weight is not None:
        print(" ", weight.grad.to(y.dtype))  # PyTorch has rounded it already
    for each in running:
        print(" ", each)


def normalize(name, kind, beside, statistics=None, training=True):
    x = (torch.arange(24.0).reshape(3, 2, 4) / 8).to(KINDS[kind]).requires_grad_()
    size = 4 if name == "layer_norm" else 2
    weight, bias = of(beside, size, 2.0), of(beside, size, 1.0)
    running = of(statistics, 2, 0.5), of(statistics, 2, 1.5)
    print(name, kind, "weight", beside, "statistics", statistics, "training", training)
    if name == "layer_norm":
        told(F.layer_norm(x, (4,), weight, bias), weight)
    elif name == "group_norm":
        told(F.group_norm(x, 2, weight, bias), weight)
    else:
        told(getattr(F, name)(x, *running, weight, bias, training), weight, *filter(lambda t: t is not None, running))


for kind in ("bf16", "f16"):
    for beside in ("bf16", "f16", "f32", None):
        for name in ("layer_norm", "group_norm"):
            attempt(lambda: normalize(name, kind, beside))
        for name in ("batch_norm", "instance_norm"):
            for statistics in ("bf16", "f16", "f32", None):
                attempt(lambda: normalize(name, kind, beside, statistics))
                if statistics is not None:
                    attempt(lambda: normalize(name, kind, beside, statistics, False))

for kind in (torch.bfloat16, torch.float16):
    for layer in (nn.BatchNorm1d(2), nn.BatchNorm1d(2).to(kind), nn.BatchNorm1d(2, affine=False)):
        x = (torch.arange(24.0).reshape(3, 2, 4) / 8).to(kind)
        y = layer(x.requires_grad_())
        print([saved(y.grad_fn), y.dtype, layer.running_mean, layer.running_var])
        print([t.dtype for t in torch.native_batch_norm(x, layer.weight, layer.bias, None, None, True, 0.1, 1e-5)])

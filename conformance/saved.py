"""What the nodes of a graph save: read from either side as plain data, before and after the graph is freed, and compared."""

from .sides import Array, Seq, compare, random_like

PREFIXES = ("_saved_", "_raw_saved_")


def saved_of(side, call, case):
    """[(node, {attribute: value})] of the graph behind one call, and the same after a pass that frees the graph.

    None where nothing requires grad; only the first where the pass fails.
    """
    side.reseed()
    args, kwargs, tensors = side.build_call(case)
    outs = [t for t in side.tensors_in(call(*args, **kwargs)) if t.requires_grad]
    if not outs:
        return None
    nodes = _nodes(outs)
    found = [_read_all(side, nodes)]
    grads = [side.from_array(random_like(side.read(t), i)) for i, t in enumerate(outs)]
    inputs = [t for t in tensors if t.requires_grad]
    try:
        side.torch.autograd.grad(outs, inputs, grads, allow_unused=True)
    except Exception:
        return found
    return [*found, _read_all(side, nodes)]


def _nodes(outputs):
    nodes = dict.fromkeys(t.grad_fn for t in outputs if t.grad_fn is not None)
    queue = list(nodes)
    for node in queue:  # grows while it is walked
        for following, _ in node.next_functions:
            if following is not None and following not in nodes:
                nodes[following] = None
                queue.append(following)
    return queue


def _read_all(side, nodes):
    return [
        (n.name().rpartition("::")[2], {a: _read(side, n, a) for a in dir(n) if a.startswith(PREFIXES)}) for n in nodes
    ]


def _read(side, node, attribute):
    try:
        value = getattr(node, attribute)
        if attribute.startswith("_ag_raw"):
            return f"{len(value)} saved" if isinstance(value, (tuple, list)) else type(value).__name__
        return side.read(value)
    except Exception as e:
        return f"{type(e).__name__}: {e}"


def differences(want, got, slack=1.0, override=None, values=True):
    """Each (node, attribute, what differs) between two answers of `saved_of`."""
    if got is None or len(want) != len(got):
        yield "", "", f"expected {len(want)} readings, got {len(got or ())}"
        return
    for when, a, b in zip(("", ", freed"), want, got):
        if [name for name, _ in a] != [name for name, _ in b]:
            yield "", "", f"other nodes{when}"
            continue
        for (name, x), (_, y) in zip(a, b):
            for attribute in sorted({*x, *y}):
                if attribute not in y:
                    yield name, attribute, f"missing{when}"
                elif attribute not in x:
                    yield name, attribute, f"is there, not in PyTorch{when}"
                elif bad := _compare(x[attribute], y[attribute], slack, override, values):
                    yield name, attribute, f"{bad}{when}"


def _compare(want, got, slack, override, values):
    if isinstance(want, (Array, Seq)):
        return compare(want, got, slack, override, values)
    return compare(want, got, slack, override)

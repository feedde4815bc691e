"""Hooks on tensors, leaves and nodes: their order, what they may return, where they are not asked."""

# ruff: noqa: E731, F841
from tests.torch.autograd.behaviours import case, err, graph, leaf


@case
def hook_tensor_hook_order(torch):
    log = []
    x = leaf(torch)
    y = x * 2
    y.register_hook(lambda g: log.append(("a", g.tolist())))
    y.register_hook(lambda g: g * 2)
    y.register_hook(lambda g: log.append(("b", g.tolist())))
    y.retain_grad()
    y.register_hook(lambda g: g * 3)
    x.register_hook(lambda g: log.append(("x", g.tolist())))
    y.sum().backward()
    return log, y.grad, x.grad


@case
def hook_retain_then_hooks(torch):
    x = leaf(torch)
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda g: g * 5)
    y.sum().backward()
    return y.grad, x.grad


@case
def hook_node_prehook_hook_order(torch):
    log = []
    x = leaf(torch)
    y = x * 2
    n = y.grad_fn
    n.register_hook(
        lambda gi, go: log.append(("post", [None if g is None else g.tolist() for g in gi], [g.tolist() for g in go]))
    )
    n.register_prehook(lambda go: log.append(("pre", [g.tolist() for g in go])))
    n.register_prehook(lambda go: (go[0] * 2,))
    n.register_hook(lambda gi, go: (gi[0] * 10, *gi[1:]))
    y.register_hook(lambda g: log.append(("t", g.tolist())))
    y.sum().backward()
    return log, x.grad


@case
def hook_acc_grad_hooks(torch):
    log = []
    x = leaf(torch)
    y = x * 2
    a = y.grad_fn.next_functions[0][0]
    a.register_prehook(lambda go: log.append(("pre", go[0].tolist(), x.grad)))
    a.register_hook(lambda gi, go: log.append(("post", len(gi), go[0].tolist(), x.grad.tolist())))
    x.register_hook(lambda g: log.append(("t", g.tolist())))
    x.register_post_accumulate_grad_hook(lambda p: log.append(("pa", p.grad.tolist())))
    y.sum().backward()
    return log, x.grad


@case
def hook_hook_removed(torch):
    log = []
    x = leaf(torch)
    h = x.register_hook(lambda g: log.append(1))
    (x * 2).sum().backward()
    h.remove()
    (x * 2).sum().backward()
    return log


@case
def hook_hook_removes_itself(torch):
    log = []
    x = leaf(torch)

    def f(g):
        log.append(1)
        h.remove()

    h = x.register_hook(f)
    x.register_hook(lambda g: log.append(2))
    (x * 2).sum().backward()
    (x * 2).sum().backward()
    return log


@case
def hook_hook_bad_return(torch):
    x = leaf(torch)
    x.register_hook(lambda g: "a")
    return err(lambda: (x * 2).sum().backward())


@case
def hook_hook_bad_shape(torch):
    x = leaf(torch)
    x.register_hook(lambda g: torch.ones(5))
    return err(lambda: (x * 2).sum().backward())


@case
def hook_hook_bad_dtype(torch):
    x = leaf(torch)
    x.register_hook(lambda g: g.double())
    return err(lambda: (x * 2).sum().backward()), x.grad


@case
def hook_hook_raises(torch):
    x = leaf(torch)

    def f(g):
        raise ValueError("mine")

    h = x.register_hook(f)
    r = err(lambda: (x * 2).sum().backward())
    h.remove()
    (x * 2).sum().backward()
    return r, x.grad


@case
def hook_node_hook_wrong_count(torch):
    x = leaf(torch)
    y = x * x
    y.grad_fn.register_hook(lambda gi, go: (gi[0],))
    return err(lambda: y.sum().backward())


@case
def hook_node_hook_none(torch):
    x = leaf(torch)
    y = x * x
    y.grad_fn.register_hook(lambda gi, go: (gi[0], None))
    return err(lambda: y.sum().backward()), x.grad


@case
def hook_prehook_wrong(torch):
    x = leaf(torch)
    y = x * x
    y.grad_fn.register_prehook(lambda go: go[0] * 2)
    return err(lambda: y.sum().backward()), x.grad


@case
def hook_prehook_wrong2(torch):
    x = leaf(torch)
    y = x * x
    y.grad_fn.register_prehook(lambda go: (go[0], go[0]))
    return err(lambda: y.sum().backward()), x.grad


@case
def hook_prehook_str(torch):
    x = leaf(torch)
    y = x * x
    y.grad_fn.register_prehook(lambda go: "s")
    return err(lambda: y.sum().backward()), x.grad


@case
def hook_hook_noreq(torch):
    return (
        err(lambda: torch.ones(2).register_hook(print)),
        err(lambda: torch.ones(2).register_post_accumulate_grad_hook(print)),
        err(lambda: (leaf(torch) * 2).register_post_accumulate_grad_hook(print)),
        err(lambda: torch.ones(2).retain_grad()),
        err(lambda: torch.ones(2).register_hook(3)),
    )


@case
def hook_hook_create_graph(torch):
    x = leaf(torch)
    y = x**3
    y.register_hook(lambda g: g * x)
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    return g, graph(g), torch.autograd.grad(g.sum(), x)


@case
def hook_hook_in_grad_mode(torch):
    log = []
    x = leaf(torch)
    x.register_hook(lambda g: log.append((torch.is_grad_enabled(), g.requires_grad)))
    (x**2).sum().backward()
    (x**2).sum().backward(create_graph=True)
    return log


@case
def hook_hook_on_leaf_grad_capture(torch):
    log = []
    x = leaf(torch)
    x.register_hook(lambda g: g * 2)
    x.register_post_accumulate_grad_hook(lambda p: log.append(1))
    g = torch.autograd.grad((x * 3).sum(), x)
    return g, log, x.grad


@case
def hook_hook_on_inter_grad_capture(torch):
    log = []
    x = leaf(torch)
    y = x * 2
    y.register_hook(lambda g: g * 2)
    y.grad_fn.register_prehook(lambda go: log.append("pre"))
    y.grad_fn.register_hook(lambda gi, go: log.append("post"))
    g = torch.autograd.grad((y * 3).sum(), y)
    return g, log


@case
def hook_hook_on_inter_grad_capture2(torch):
    log = []
    x = leaf(torch)
    y = x * 2
    y.register_hook(lambda g: g * 2)
    y.grad_fn.register_prehook(lambda go: (go[0] * 7,))
    y.grad_fn.register_hook(lambda gi, go: log.append("post"))
    g = torch.autograd.grad((y * 3).sum(), (y, x))
    return g, log


@case
def hook_retain_grad_capture(torch):
    x = leaf(torch)
    y = x * 2
    y.retain_grad()
    g = torch.autograd.grad((y * 3).sum(), x)
    return g, y.grad


@case
def hook_retain_grad_capture2(torch):
    x = leaf(torch)
    y = x * 2
    y.retain_grad()
    g = torch.autograd.grad((y * 3).sum(), y)
    return g, y.grad


@case
def hook_multi_all(torch):
    log = []
    a, b = leaf(torch), leaf(torch)
    h = torch.autograd.graph.register_multi_grad_hook(
        (a, b), lambda gs: log.append([None if g is None else g.tolist() for g in gs])
    )
    (a * 2).sum().backward()
    (a * b).sum().backward()
    h.remove()
    (a * b).sum().backward()
    return log


@case
def hook_multi_any(torch):
    log = []
    a, b = leaf(torch), leaf(torch)
    h = torch.autograd.graph.register_multi_grad_hook((a, b), lambda g: log.append(g.tolist()), mode="any")
    (a * 2).sum().backward()
    (a * b).sum().backward()
    return log


@case
def hook_multi_inter(torch):
    log = []
    a = leaf(torch)
    b = a * 2
    c = b * 3
    h = torch.autograd.graph.register_multi_grad_hook(
        (b, c), lambda gs: log.append([None if g is None else g.tolist() for g in gs])
    )
    c.sum().backward()
    return log


@case
def hook_inplace_hook_transfer(torch):
    log = []
    x = leaf(torch)
    y = x * 2
    y.register_hook(lambda g: log.append(("before", g.tolist())))
    y.mul_(3)
    y.register_hook(lambda g: log.append(("after", g.tolist())))
    y.sum().backward()
    return log, x.grad


@case
def hook_inplace_retain_transfer(torch):
    x = leaf(torch)
    y = x * 2
    y.retain_grad()
    y.mul_(3)
    y.sum().backward()
    return y.grad, x.grad


@case
def hook_post_acc_sets_none(torch):
    x = leaf(torch)
    x.register_post_accumulate_grad_hook(lambda p: setattr(p, "grad", None))
    (x * 2).sum().backward()
    return x.grad


@case
def hook_post_acc_returns(torch):
    x = leaf(torch)
    x.register_post_accumulate_grad_hook(lambda p: 3)
    return err(lambda: (x * 2).sum().backward())


@case
def hook_register_hook_same_twice(torch):
    log = []
    f = lambda g: log.append(1)
    x = leaf(torch)
    x.register_hook(f)
    x.register_hook(f)
    (x * 1).sum().backward()
    return log


@case
def hook_prepend(torch):
    return err(lambda: leaf(torch).register_hook())


@case
def hook_backward_inputs_hooks(torch):
    log = []
    x = leaf(torch)
    w = leaf(torch)
    y = x * w
    y.register_hook(lambda g: log.append("y"))
    x.register_hook(lambda g: log.append("x"))
    w.register_hook(lambda g: log.append("w"))
    y.sum().backward(inputs=[x])
    return log, x.grad, w.grad


@case
def hook_backward_inputs_inter(torch):
    x = leaf(torch)
    y = x * 2
    z = y * 3
    z.sum().backward(inputs=[y])
    return x.grad


@case
def hook_acc_hook_capture(torch):
    log = []
    x = leaf(torch)
    y = x * 2
    a = y.grad_fn.next_functions[0][0]
    a.register_prehook(lambda go: (go[0] * 5,))
    a.register_hook(lambda *k: log.append("post"))
    return torch.autograd.grad(y.sum(), x), log


@case
def hook_hook_mutates_inplace(torch):
    x = leaf(torch)
    y = x * 2
    y.register_hook(lambda g: g.mul_(2) and None)
    return err(lambda: y.backward(torch.ones(3))), x.grad


@case
def hook_leaf_hook_then_inplace_nograd(torch):
    log = []
    x = leaf(torch)
    x.register_hook(lambda g: log.append(1))
    with torch.no_grad():
        x.mul_(2)
    (x * 2).sum().backward()
    return log


@case
def hook_hook_order_diamond(torch):
    log = []
    x = leaf(torch)
    a = x * 2
    b = x * 3
    c = a + b
    for n, t in (("a", a), ("b", b), ("c", c), ("x", x)):
        t.register_hook(lambda g, n=n: log.append(n))
    c.sum().backward()
    return log

"""Every operation under vmap gives what a loop over the samples gives: values, dtypes, gradients of first and second order."""

import itertools
import warnings

import numpy as np

from autograph_cli import torch
from autograph_cli.torch._core.operations.operation import table
from autograph_cli.torch._core.running import dispatch
from autograph_cli.torch._core.tape.tensor import Tensor, make
from tests.cases import for_each
from tests.torch.autograd.collected import collected

SIZE = 2
APART = {"masked_select", "nll_loss_backward", "nll_loss2d_backward", "_reshape_alias"}
"""Samples that would differ in shape; arguments that have to fit each other."""
CALLS = {name: calls for name, calls in collected().items() if name not in APART and not table[name].random}


def varied(raw, sample):
    """The values of another sample: numbers a little smaller, integers the same."""
    return raw if not sample or raw.dtype.kind not in "fc" else raw * raw.dtype.type(1 - 0.06 * sample)


def tensors_of(op, args):
    return [t for i, p in op.positions for t in (args[i] if p.is_list else [args[i]]) if t is not None]


def choices(op, args):
    """Return which tensors have samples: all, or one of several."""
    count = len(tensors_of(op, args))
    return [tuple(range(count)), *([(i,) for i in range(count)] if count > 1 else [])]


def batches(op, args, chosen, lead):
    """A tensor of samples for each chosen one."""
    given = tensors_of(op, args)
    rows = [[varied(np.asarray(given[i]._ag_raw), s) for s in range(int(np.prod(lead)))] for i in chosen]
    return [make(np.stack(r).reshape(*lead, *r[0].shape)) for r in rows]


def filled(op, args, chosen, samples):
    """The arguments with other tensors in the chosen positions."""
    at, number = dict(zip(chosen, samples, strict=True)), iter(range(1000))
    position = lambda t: t if t is None else at.get(next(number), t)  # noqa: E731
    found = list(args)
    for i, p in op.positions:
        found[i] = [position(t) for t in args[i]] if p.is_list else position(args[i])
    return tuple(found)


def outputs(result):
    return [result] if isinstance(result, Tensor) else [t for t in result if t is not None]


def looped(function, values):
    rows = [function(*(v[i] for v in values)) for i in range(SIZE)]
    return [torch.stack(list(column)) for column in zip(*rows, strict=True)]


def cotangent(tensor, seed):
    numbers = np.random.default_rng(seed).standard_normal(tensor._ag_raw.shape)
    return make(np.asarray(numbers).astype(tensor._ag_raw.dtype)[()])


def gradients(found, values, recorded):
    roots = [t for t in found if t.requires_grad]
    leaves = [v for v in values if v.requires_grad]
    if not roots or not leaves:
        return []
    given = [cotangent(t, i) for i, t in enumerate(roots)]
    return torch.autograd.grad(roots, leaves, given, create_graph=recorded, allow_unused=True)


def derivatives(run, values):
    """The results of `run`, their gradients and the gradients of those, as far as the operation has them."""
    leaves = [v.clone().requires_grad_(v._ag_raw.dtype.kind in "fc") for v in values]
    results = run(leaves)
    found = [[t.detach() for t in results]]
    try:
        first = gradients(results, leaves, True)
        found.append([None if g is None else g.detach() for g in first])
        found.append(gradients([g for g in first if g is not None], leaves, False))
    except (RuntimeError, NotImplementedError):
        pass
    return found


def assert_alike(got, want, what):
    for a, b in itertools.zip_longest(got, want):
        if a is None or b is None:
            assert all(t is None or not t._ag_raw.any() for t in (a, b)), what
            continue
        assert (a.dtype, a.shape) == (b.dtype, b.shape), what
        wide = a._ag_raw.dtype.name in ("float64", "complex128")
        tolerance = 1e-8 if wide else 2e-2 if a._ag_raw.dtype.itemsize == 2 else 2e-4
        np.testing.assert_allclose(
            a._ag_raw.astype(complex), b._ag_raw.astype(complex), tolerance, tolerance, err_msg=str(what)
        )


@for_each("name", CALLS)
def test_an_operation_under_vmap_is_a_loop(name):
    op = table[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, args in enumerate(CALLS[name][:3]):
            for chosen in choices(op, args)[: 1 if number else None]:
                check(op, args, chosen, (SIZE,))
        check(op, args, choices(op, args)[0], (SIZE, SIZE))


def check(op, args, chosen, lead):
    values = batches(op, args, chosen, lead)
    one = lambda *samples: outputs(dispatch.run(op, filled(op, args, chosen, samples)))  # noqa: E731
    nested = len(lead) == 2
    each = (lambda *v: looped(one, v)) if nested else one
    try:
        want = derivatives(lambda v: looped(each, v), values)
    except (RuntimeError, IndexError, NotImplementedError):
        return  # Not these samples: a matrix may have become singular, an index too large.
    mapped = torch.vmap(lambda *v: tuple(one(*v)))
    mapped = torch.vmap(mapped) if nested else mapped
    got = derivatives(lambda v: list(mapped(*v)), values)
    for level, pair in enumerate(zip(got, want, strict=False)):
        assert_alike(*pair, (op.identifier, level, [getattr(x, "shape", x) for x in args], chosen))

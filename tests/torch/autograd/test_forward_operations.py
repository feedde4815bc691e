"""Every operation forward and backward: `<J t, u>` is `<t, J^T u>` for any tangents t and cotangents u."""

import numpy as np
import pytest

from autograph_cli import torch
from autograph_cli.torch._core import general
from autograph_cli.torch._core.forward import laid_out
from autograph_cli.torch._core.operation import table
from autograph_cli.torch._core.tensor import Tensor, make
from autograph_cli.torch._core.transforms import Dual, DualLevel, dual, running
from tests.torch.autograd.collected import collected, copied, is_float

CALLS = collected()


def drawn(generator, raw):
    values = generator.uniform(0.5, 1.5, raw.shape) * generator.choice([-1, 1], raw.shape)
    if raw.dtype.kind == "c":
        values = values + 1j * generator.uniform(-1, 1, raw.shape)
    return make(values.astype(raw.dtype)[()])


def product(a, b):
    """The real inner product."""
    return float(np.sum((np.conj(a) * b).real, dtype=np.float64)), float(np.sum(np.abs(a * b), dtype=np.float64))


def replaced(op, args, change):
    """The arguments after `change(tensor)` of each floating input that has a derivative."""
    found = list(args)
    for i, p in op.input_places:
        x = args[i]
        if p.is_list:
            found[i] = [change(t) if is_float(t) else t for t in x]
        elif is_float(x):
            found[i] = change(x)
    return tuple(found)


def both_ways(op, args):
    """`<J t, u>`, `<t, J^T u>`, and the size of what they sum up."""
    generator = np.random.default_rng(0)
    leaves, tangents, primals = [], [], []

    def leaf(x):
        leaves.append(copied(x).requires_grad_())
        return leaves[-1]

    torch.manual_seed(0)
    outputs = general.run(op, replaced(op, args, leaf))
    outputs = list(outputs) if op.multiple else [outputs]
    tangents += [drawn(generator, x._raw) for x in leaves]
    chosen = [(i, y) for i, y in enumerate(outputs) if y.requires_grad and y._raw.size]
    cotangents = [drawn(generator, y._raw) for _, y in chosen]
    if not chosen:
        return None
    gradients = torch.autograd.grad([y for _, y in chosen], leaves, cotangents, allow_unused=True)
    level, rest = DualLevel(), iter(tangents)

    def wrap(x):
        primals.append(copied(x))
        return dual(level, primals[-1], laid_out(next(rest), primals[-1]))

    torch.manual_seed(0)
    with running(level):
        followed = general.run(op, replaced(op, args, wrap))
    followed = list(followed) if op.multiple else [followed]
    forward = [product(followed[i]._tangent._raw, u._raw) for (i, _), u in zip(chosen, cotangents, strict=True) if isinstance(followed[i], Dual)]
    backward = [product(t._raw, g._raw) for t, g in zip(tangents, gradients, strict=True) if g is not None]
    for i, y in chosen:
        if isinstance(followed[i], Dual):
            assert followed[i]._tangent._raw.shape == y._raw.shape
            assert followed[i]._tangent._raw.dtype == y._raw.dtype
            assert not followed[i]._tangent.requires_grad
    size = sum(s for _, s in forward + backward)
    return sum(v for v, _ in forward), sum(v for v, _ in backward), size


TOLERANCE = {"float16": 1e-2, "bfloat16": 1e-2, "float32": 1e-4, "complex64": 1e-4}
NOT_FORWARD = {
    "_cdist_forward", "_ctc_loss", "_embedding_bag", "_pdist_forward", "_scaled_dot_product_flash_attention_for_cpu",
    "grid_sampler_2d_backward", "grid_sampler_3d_backward", "multi_margin_loss", "multilabel_margin_loss_forward",
    "segment_reduce",
}  # fmt: skip
"""Whose gradient has no gradient, so that there is nothing to transpose; an error says so."""
OTHERWISE = {"put", "linalg_eig"}
"""A write to one place twice, whose gradient is not defined; and eigenvectors, which need cotangents of a certain kind."""


def tolerance(args):
    flat = [t for x in args for t in (x if isinstance(x, (list, tuple)) else [x])]
    kinds = [x._raw.dtype.name if isinstance(x, Tensor) else str(x) for x in flat]
    return max([TOLERANCE.get(kind, 1e-9) for kind in kinds], default=1e-9)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(CALLS.keys() - OTHERWISE - NOT_FORWARD))
def test_forward_mode_is_the_transpose_of_backward_mode(name):
    for args in CALLS[name]:
        try:
            found = both_ways(table[name], args)
        except (NotImplementedError, RuntimeError) as error:
            assert "derivative for" in str(error), error  # what has no gradient
            continue
        if found is not None and np.isfinite(found).all():
            forward, backward, size = found
            assert abs(forward - backward) <= tolerance(args) * max(size, 1e-3), (args, found)


@pytest.mark.parametrize("name", sorted(NOT_FORWARD))
def test_what_has_no_forward_mode_says_so(name):
    with pytest.raises(NotImplementedError, match=f"Trying to use forward AD with {name} that does not support it"):
        both_ways(table[name], CALLS[name][0])


def test_nearly_all_operations_are_held():
    assert len(CALLS) > 430

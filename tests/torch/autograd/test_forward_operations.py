"""Every operation forward and backward: `<J t, u>` is `<t, J^T u>` for any tangents t and cotangents u."""

import numpy as np
import pytest

from autograph_cli import torch
from autograph_cli.torch._core.operations.operation import table
from autograph_cli.torch._core.running import dispatch
from autograph_cli.torch._core.tape.tensor import Tensor, make
from autograph_cli.torch._core.transforms.forward import laid_out
from autograph_cli.torch._core.transforms.interpreter_stack import DualLevel, running
from autograph_cli.torch._core.transforms.transforms import Dual, dual
from tests.cases import for_each
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
    for i, p in op.input_positions:
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
    outputs = dispatch.run(op, replaced(op, args, leaf))
    outputs = list(outputs) if op.multiple else [outputs]
    tangents += [drawn(generator, x._ag_raw) for x in leaves]
    chosen = [(i, y) for i, y in enumerate(outputs) if y.requires_grad and y._ag_raw.size]
    cotangents = [drawn(generator, y._ag_raw) for _, y in chosen]
    if not chosen:
        return None
    gradients = torch.autograd.grad([y for _, y in chosen], leaves, cotangents, allow_unused=True)
    level, rest = DualLevel(), iter(tangents)

    def wrap(x):
        primals.append(copied(x))
        return dual(level, primals[-1], laid_out(next(rest), primals[-1]))

    torch.manual_seed(0)
    with running(level):
        followed = dispatch.run(op, replaced(op, args, wrap))
    followed = list(followed) if op.multiple else [followed]
    forward = [
        product(followed[i]._ag_tangent._ag_raw, u._ag_raw)
        for (i, _), u in zip(chosen, cotangents, strict=True)
        if isinstance(followed[i], Dual)
    ]
    backward = [product(t._ag_raw, g._ag_raw) for t, g in zip(tangents, gradients, strict=True) if g is not None]
    for i, y in chosen:
        if isinstance(followed[i], Dual):
            assert followed[i]._ag_tangent._ag_raw.shape == y._ag_raw.shape
            assert followed[i]._ag_tangent._ag_raw.dtype == y._ag_raw.dtype
            assert not followed[i]._ag_tangent.requires_grad
    size = sum(s for _, s in forward + backward)
    return sum(v for v, _ in forward), sum(v for v, _ in backward), size


TOLERANCE = {"float16": 1e-2, "bfloat16": 1e-2, "float32": 1e-4, "complex64": 1e-4}
NOT_FORWARD = set(
    """
    _cdist_forward _ctc_loss _embedding_bag _pdist_forward _scaled_dot_product_flash_attention_for_cpu
    grid_sampler_2d_backward grid_sampler_3d_backward multi_margin_loss multilabel_margin_loss_forward segment_reduce
    """.split()
)
"""Whose gradient has no gradient, so that there is nothing to transpose; an error says so."""
OTHERWISE = {"put", "linalg_eig"}
"""A write to one position twice, whose gradient is not defined; and eigenvectors, which need cotangents of a certain
kind."""


def tolerance(args):
    flat = [t for x in args for t in (x if isinstance(x, (list, tuple)) else [x])]
    kinds = [x._ag_raw.dtype.name if isinstance(x, Tensor) else str(x) for x in flat]
    return max([TOLERANCE.get(kind, 1e-9) for kind in kinds], default=1e-9)


@pytest.mark.filterwarnings("ignore")
@for_each("name", sorted(CALLS.keys() - OTHERWISE - NOT_FORWARD))
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


# ---------------------------------------------------------------- beside central differences

SELECTED = """
    sin tanh mul div pow atan2 where clamp softmax log_softmax logsumexp sum prod cumsum cumprod var std_mean mm bmm
    addmm convolution avg_pool2d native_layer_norm native_batch_norm native_group_norm _weight_norm_interface gelu
    softplus log_sigmoid_forward binary_cross_entropy_with_logits linalg_det linalg_inv_ex linalg_solve_ex linalg_qr
    linalg_matrix_exp index_put scatter_add gather cat as_strided upsample_bilinear2d linalg_vector_norm renorm _fft_r2c
    _fft_c2r
""".split()
STEP = 1e-6


def gradients_along(op, args):
    """Pairs of what forward mode says and of a central difference: of outputs, of gradients, and of gradients of tangents."""
    func, generator = torch.func, np.random.default_rng(1)
    inputs: list = []
    replaced(op, args, lambda x: inputs.append(x) or x)
    tangents = tuple(drawn(generator, x._ag_raw) for x in inputs)

    def f(*xs):
        torch.manual_seed(0)
        given = iter(xs)
        found = dispatch.run(op, replaced(op, args, lambda x: next(given)))
        found = list(found) if op.multiple else [found]
        return [y for i, y in enumerate(found) if dispatch.differentiable(op, i, y) and y._ag_raw.size]

    cotangents = [drawn(generator, y._ag_raw) for y in f(*inputs)]
    back = lambda *xs: func.vjp(f, *xs)[1](cotangents)  # noqa: E731
    moved = [
        [make(x._ag_raw + sign * STEP * t._ag_raw) for x, t in zip(inputs, tangents, strict=True)] for sign in (1, -1)
    ]
    for g in (f, back):
        differences = [(a._ag_raw - b._ag_raw) / (2 * STEP) for a, b in zip(g(*moved[0]), g(*moved[1]), strict=True)]
        yield func.jvp(g, tuple(inputs), tangents)[1], differences
    yield func.vjp(lambda *xs: func.jvp(f, xs, tangents)[1], *inputs)[1](cotangents), differences


@pytest.mark.filterwarnings("ignore")
@for_each("name", SELECTED)
def test_tangents_of_two_orders_are_central_differences(name):
    for args in CALLS[name][:2]:
        flat = [t for x in args for t in (x if isinstance(x, (list, tuple)) else [x])]
        if any(is_float(t) and t._ag_raw.dtype.name not in ("float64", "complex128") for t in flat):
            continue
        for got, want in gradients_along(table[name], args):
            for a, b in zip(got, want, strict=True):
                if np.isfinite(b).all():
                    np.testing.assert_allclose(a._ag_raw, b, 1e-4, 1e-5 * (1 + np.abs(b).max(initial=0)))


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: x / torch.tensor([0.0, 0.0, 2.0]), [torch.inf, torch.inf, 0.5]),
        (lambda x: x / 0.0, [torch.inf] * 3),
        (lambda x: x * torch.tensor([torch.inf, 1.0, 2.0]), [torch.inf, 1.0, 2.0]),
        (lambda x: torch.addcmul(x, torch.full((3,), torch.inf), torch.zeros(3)), [1.0] * 3),
        (lambda x: torch.addcdiv(x, torch.ones(3), torch.zeros(3)), [1.0] * 3),
    ],
)
@pytest.mark.parametrize("recorded", [False, True])
def test_a_tangent_that_is_absent_adds_nothing_beside_infinite_factors(function, expected, recorded):
    x = torch.tensor([0.6, 0.0, -1.0], requires_grad=recorded)
    _, tangent = torch.func.jvp(function, (x,), (torch.ones(3),))
    assert tangent.tolist() == expected


@pytest.mark.parametrize(
    ("function", "names"),
    [
        (lambda x, y: torch.addcmul(x, x, y), "Add Mul Identity View AccumulateGrad"),
        (lambda x, y: torch.addcdiv(y, y, x), "Sub Add Div Div Mul Div Identity View AccumulateGrad"),
        (lambda x, y: torch.atan2(x, y), "Div Add Mul Neg Add Pow Identity View AccumulateGrad"),
        (lambda x, y: torch.logsumexp(x, 0), "Div Sum Mul Sum Exp Sub Amax Identity View AccumulateGrad"),
        (lambda x, y: torch.hypot(x, y), "Add Div Mul Div Identity Hypot View AccumulateGrad"),
    ],
)
def test_tangents_have_the_nodes_of_pytorchs_formulas_in_their_order(function, names):
    forward = torch.autograd.forward_ad
    x, y = torch.tensor([0.6, 1.1], requires_grad=True), torch.tensor([0.7, 1.3])
    with forward.dual_level():
        tangent = forward.unpack_dual(function(forward.make_dual(x, y), y)).tangent
    seen, waiting = set(), [tangent.grad_fn]
    while waiting:
        node = waiting.pop()
        if node not in seen:
            seen.add(node)
            waiting += [n for n, _ in node.next_functions if n is not None]
    ordered = sorted(seen, key=lambda n: n._sequence_nr() if n.next_functions else -1, reverse=True)
    found = [n.name().rpartition("::")[2].partition("Backward")[0] for n in ordered]
    assert found == names.split()

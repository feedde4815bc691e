"""What comes of a call, beside PyTorch: results, their layout and nodes, gradients of both orders, or the error.

A call is text that uses the names of `names_of`: `T(2, 3)` is a tensor, and other letters change one: `G` lets it require a
gradient, `C` makes it complex, `S` puts special values into it, `Y`, `P`, `L` and `E` lay it out in another way.
"""

import re
import signal
import warnings
from pathlib import Path

import numpy as np

from tests.torch.ops.mutations import ADDRESS, TooLong, scope, stop

UNSET = re.compile(
    r"empty|resize|_like\(|getstate|seed|Storage|storage|data_ptr|eig|svd|\bqr\b|geqrf|lstsq|lobpcg|pca_|utils|optim"
)
"""Calls whose values are not defined, or only up to something."""
RTOL = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 2e-4, "complex64": 2e-4}
ROWS, EXPECTED = (Path(__file__).with_name(f"calls.{end}") for end in ("txt", "json"))
FEW = 24
"""So many elements of a result are kept in a recorded table."""


def names_of(torch, leaves):
    """The names that calls use."""
    found = scope(torch)
    T = found["T"]

    def C(x):
        return torch.complex(x, x.flip(0) - 0.25 if x.ndim else x - 0.25)

    def S(x):
        flat = x.reshape(-1).clone()
        for i, value in enumerate((0.0, float("nan"), -1.0, float("inf"))[: flat.numel()]):
            flat[i] = value
        return flat.reshape(x.shape)

    def Y(x):
        return x.transpose(0, -1).contiguous().transpose(0, -1) if x.ndim > 1 else x

    def P(x):
        return torch.stack([x, x], -1)[..., 0]

    def L(x):
        return x.contiguous(memory_format=torch.channels_last) if x.ndim == 4 else x

    def E(x):
        return x[..., :1].expand(x.shape) if x.ndim and x.shape[-1] else x

    def G(x):
        x = x.detach().requires_grad_()
        leaves.append(x)
        return x

    return found | {"C": C, "S": S, "Y": Y, "P": P, "L": L, "E": E, "G": G, "T": T}


def observe(torch, text):
    """Return what a call gives, as plain data: [(what, text or array)]"""
    leaves, told = [], []
    names = names_of(torch, leaves)
    torch.manual_seed(0)
    signal.signal(signal.SIGVTALRM, stop)  # of the processor's time: others may keep it busy
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            signal.setitimer(signal.ITIMER_VIRTUAL, 3)
            try:
                _observe(torch, text, names, leaves, told)
            finally:
                signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    except TooLong:
        told.append(("time", "too long"))
    except Exception as error:
        said = ADDRESS.sub("at 0x", str(error).strip().replace("autograph_cli.torch", "torch"))
        told.append(("error", f"{type(error).__name__.removeprefix('_')}: {said}"))
    finally:
        torch.set_grad_enabled(True)
        torch.set_default_dtype(torch.float32)
    return told


def _observe(torch, text, names, leaves, told):
    found = eval(text, names)
    outputs = list(_flat(torch, found))
    told.append(("kind", type(found).__name__ if outputs or not isinstance(found, (int, float, str)) else repr(found)))
    for x in outputs:
        _describe(torch, x, told, "")
    ends = [x for x in outputs if x.requires_grad and x.grad_fn is not None]
    if not ends or not leaves:
        return
    told.append(("grad", "first"))
    first = torch.autograd.grad(ends, leaves, [_ramp(torch, x) for x in ends], create_graph=True, allow_unused=True)
    for x in first:
        if x is None:
            told.append(("gradient", "None"))
        else:
            _describe(torch, x, told, "gradient ")
    again = [x for x in first if x is not None and x.requires_grad and x.grad_fn is not None]
    if again:
        told.append(("grad", "second"))
        second = torch.autograd.grad(again, leaves, [_ramp(torch, x) for x in again], allow_unused=True)
        for x in second:
            if x is None:
                told.append(("second gradient", "None"))
            else:
                _describe(torch, x, told, "second gradient ")


def _flat(torch, x):
    if isinstance(x, torch.Tensor):
        yield x
    elif isinstance(x, (tuple, list)):
        for y in x:
            yield from _flat(torch, y)


def _ramp(torch, x):
    values = np.cos(np.arange(x.numel(), dtype="float64")).reshape(tuple(x.shape))
    return torch.tensor(values).to(x.dtype)


def _describe(torch, x, told, of):
    dtype = str(x.dtype).rpartition(".")[2]
    told.append((f"{of}dtype", dtype))
    told.append((f"{of}shape", str(tuple(x.shape))))
    layout = str(x.layout).rpartition(".")[2]
    told.append((f"{of}layout", layout))
    if layout == "strided":
        told.append((f"{of}strides", str(tuple(x.stride()))))
    # The nodes of a second derivative are told of where its own gradients are: by their values.
    if not of:
        told.append(("requires_grad", str(x.requires_grad)))
        told.append(("nodes", " ".join(_nodes(x.grad_fn))))
    x = x.detach()
    if layout != "strided":
        x = x.to_dense()
    x = x.resolve_conj().resolve_neg()
    wide = torch.complex128 if x.is_complex() else torch.float64 if x.is_floating_point() else x.dtype
    told.append((f"{of}values", (dtype, np.array(x.to(wide).numpy()))))


def _nodes(end):
    """The names of the nodes behind a tensor, in the order in which they are found."""
    found = [end] if end is not None else []
    for node in found:
        found += [following for following, _ in node.next_functions if following is not None and following not in found]
        if len(found) > 60:
            break
    return [node.name().rpartition("::")[2] for node in found]


def difference(text, want, got):
    """Return what of a call differs first: (what, theirs, ours), or None."""
    for (what, a), (named, b) in zip(want, got, strict=False):
        if what != named:
            return what if "error" not in (what, named) else "error", _shown(a), _shown(b)
        if isinstance(a, tuple):
            if not UNSET.search(text) and not _close(*a, b[1]):
                return what, _shown(a), _shown(b)
        elif a != b:
            return what, a, b
    return None if len(want) == len(got) else ("more", str(len(want)), str(len(got)))


def _shown(x):
    return str(x[1].tolist())[:300] if isinstance(x, tuple) else x


def _close(dtype, a, b):
    if a.shape != b.shape:
        return False
    if a.dtype.kind in "biu":
        return np.array_equal(a, b)
    rtol = RTOL.get(dtype, 1e-6)
    finite = np.abs(a[np.isfinite(a)])
    atol = rtol * max(1e-3, finite.max() if finite.size else 0)
    with np.errstate(all="ignore"):
        if a.dtype.kind == "c":
            parts = (np.stack([x.real, x.imag]) for x in (a, b))
            a, b = parts
        return np.allclose(a, b, rtol, atol, equal_nan=True)


def recorded(told):
    """The same as JSON has it: of each array some elements."""
    return [[what, list(_sampled(*x)) if isinstance(x, tuple) else x] for what, x in told]


def _sampled(dtype, values):
    flat = values.reshape(-1)[:: max(1, values.size // FEW)]
    if flat.dtype.kind == "c":
        return dtype, np.stack([flat.real, flat.imag]).tolist()
    return dtype, flat.tolist()


def unlike(text, want, got):
    """Return what differs first of a recorded call and a repeated one, or None."""
    back = [
        [(what, (x[0], np.asarray(x[1]))) if isinstance(x, list) else (what, x) for what, x in told]
        for told in (want, recorded(got))
    ]
    return difference(text, *back)

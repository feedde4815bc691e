"""Every function of the engine on tensors that lie in memory in every way: `layouts.py [ROUNDS] [START]`.

A function, a pattern of arguments, a layout, a dtype and a shape make a case; each function and pattern comes in ROUNDS of
them. What it gives is compared with what it gives for the same numbers in one piece.
"""

import math
import signal
import sys
import warnings
import zlib

import numpy as np

from autograph_cli import torch

F = torch.nn.functional
SHAPES = ((3, 4), (2, 3, 5), (0,), (3, 0, 2), (), (1,), (1, 1), (8, 8), (1, 2, 6, 6), (17,), (4, 1, 130))
DTYPES = ("float32", "float64", "int64", "bool", "complex64", "float16", "int32", "uint8", "bfloat16", "complex128")
PATTERNS = (
    "x", "x, y", "y, x", "x, 0", "x, -1", "x, 1", "x, y, y", "x, 0, i", "x, -1, i", "x, 0, i, y", "x, -1, i, y",
    "x, 0, k", "x, -1, k", "x, 0, k, x[k]", "x, m", "x, m, y", "m, x, y", "x, m, 2", "x, i", "i, x", "k, x", "i", "m",
    "x, (k,), y[0]", "x, (k,), x[k], True", "x, 2", "x, 2.0", "x, 0.25, 0.75", "x, (0, 1)", "x, (0,)", "x, (-1,)",
    "x, 2, -1", "x, 1, 0", "x, 0, -1", "x, 3", "x, (1, 1)", "x, (2, 1)", "x, (1, 1, 1, 1)", "x, x.shape", "[x, y]",
    "[x, y], -1", "x, y.mT", "x.mT, y", "x, y.mT, None", "x, k", "x, 1, 2.0", "x, 2**62", "x, -(2**63)", "x, 2**63 - 1",
    "x, 0, 0, 2**63 - 1, 2**62", "x, 0, 2**63 - 1", "x, 2**62, 4", "x, y, 0", "x, y, -1", "x, None, y, None", "x, 1, 1",
    "x, y, y, 0.5", "y, x, x.mT", "x, y.mT, y.mT", "x, (2, 2), 1, 1", "x, y, 1",
)  # fmt: skip
_LEFT_OUT = """
compile save load set_default_dtype set_default_device set_default_tensor_type seed manual_seed set_rng_state
initial_seed use_deterministic_algorithms set_deterministic_debug_mode set_printoptions set_num_threads
set_num_interop_threads set_warn_always set_float32_matmul_precision set_flush_denormal share_memory_
register_hook register_post_accumulate_grad_hook backward map_ map2_ apply_ from_file set_ storage untyped_storage
typed_storage get_rng_state data_ptr __class__ __init__ __new__ __init_subclass__ __subclasshook__ __setattr__
__delattr__ __dir__ __reduce__ __reduce_ex__ __sizeof__ __hash__ __getattribute__ __setstate__ __getstate__
requires_grad_ vmap cuda tolist __repr__ __str__ __format__ import_ir_module library as_subclass __deepcopy__
numpy __array__ pin_memory __dlpack__ __iter__ retain_grad __torch_function__ __torch_dispatch__ set_grad_enabled
__cuda_array_interface__ is_grad_enabled autocast_increment_nesting autocast_decrement_nesting
clear_autocast_cache set_autocast_enabled set_autocast_dtype set_autocast_cpu_dtype set_autocast_cpu_enabled
set_autocast_gpu_dtype set_autocast_cache_enabled set_anomaly_enabled memory_format _
"""
LEFT_OUT = frozenset(_LEFT_OUT.split())
_CHANCE = """
bernoulli bernoulli_ binomial normal normal_ poisson multinomial rand_like randn_like randint_like dropout
dropout_ dropout1d dropout2d dropout3d alpha_dropout alpha_dropout_ feature_dropout feature_dropout_
feature_alpha_dropout feature_alpha_dropout_ rrelu rrelu_ gumbel_softmax cauchy_ exponential_ geometric_
log_normal_ uniform_ random_ native_dropout fractional_max_pool2d fractional_max_pool3d pca_lowrank svd_lowrank
lobpcg rand randn randint randperm empty empty_like new_empty new_empty_strided empty_strided empty_permuted
resize_ resize_as_ resize new scaled_dot_product_attention
"""
CHANCE = frozenset(_CHANCE.split())
"""What has no one answer: random numbers, and memory of no content."""
_PLACES = """
stride is_contiguous storage_offset as_strided as_strided_ as_strided_scatter is_set_to dim_order view view_as
unflatten detach_ is_same_size contiguous element_size nbytes is_non_overlapping_and_dense
"""
PLACES = frozenset(_PLACES.split())
"""What tells how the tensor lies, or depends on it in PyTorch as well."""


def numbers(shape, dtype, seed):
    made = np.random.default_rng(seed).integers(-3, 9, shape)
    if dtype.startswith(("float", "bfloat")):
        return torch.tensor(made / 8 + 0.03125).to(getattr(torch, dtype))
    return torch.tensor(made if dtype != "uint8" else abs(made)).to(getattr(torch, dtype))


def offset(t):
    return torch.cat([t.reshape(-1)[:1].new_zeros(1), t.reshape(-1)])[1:].reshape(t.shape)


def unaligned(t):
    """At an address that is no multiple of the size of an element, as files give that are mapped."""
    if t.dtype == torch.bfloat16:
        return offset(t)
    raw = t.numpy()
    memory = np.zeros(raw.nbytes + 1, np.uint8)
    made = memory[1:].view(raw.dtype).reshape(raw.shape)
    made[...] = raw
    return torch.from_numpy(made)


def transposed(t):
    return t.mT.contiguous().mT if t.ndim > 1 else t.clone()


def stepped(t):
    return torch.stack([t, t], -1).flatten(-2)[..., ::2] if t.ndim else torch.stack([t, t])[1]


def expanded(t):
    return t[..., :1].expand(t.shape) if t.ndim and t.numel() else t.clone()


def first_moved(t):
    return t.movedim(0, -1).contiguous().movedim(-1, 0) if t.ndim else t.clone()


def read_only(t):
    if t.dtype == torch.bfloat16:
        return t.clone()
    raw = t.numpy().copy()
    raw.flags.writeable = False
    return torch.from_numpy(raw)


LAYOUTS = (torch.clone, offset, unaligned, transposed, stepped, expanded, first_moved, read_only)


def names():
    for space, owner in (("torch", torch), ("F", F), ("torch.linalg", torch.linalg), ("torch.special", torch.special),
                         ("torch.fft", torch.fft), ("T", torch.Tensor)):  # fmt: skip
        for name in sorted(dir(owner)):
            public = not name.startswith("_") or (space == "T" and name.startswith("__"))
            found = getattr(owner, name, None)
            if public and name not in LEFT_OUT and callable(found) and not isinstance(found, type):
                yield space, name, found


def cases(rounds):
    """(space, name, function, pattern, layout, dtype, shape), the same in every process."""
    for space, name, found in names():
        for pattern in PATTERNS:
            for turn in range(rounds):
                mixed = zlib.crc32(f"{space} {name} {pattern} {turn}".encode())
                layout, mixed = LAYOUTS[mixed % len(LAYOUTS)], mixed // len(LAYOUTS)
                dtype, mixed = DTYPES[mixed % len(DTYPES)], mixed // len(DTYPES)
                yield space, name, found, pattern, layout, dtype, SHAPES[mixed % len(SHAPES)]


def arguments(pattern, layout, dtype, shape):
    """Those of the pattern, and the same in one piece."""
    x, y = (layout(numbers(shape, dtype, seed)) for seed in (1, 2))
    n = min(shape, default=1)
    i = layout(numbers(shape, "int64", 3) % max(n, 1))
    m, k = layout(numbers(shape, "int64", 4) > 2), layout(torch.tensor([0, max(n - 1, 0)]))
    given = {"x": x, "y": y, "i": i, "m": m, "k": k}
    code = compile(f"({pattern},)", "pattern", "eval")
    return eval(code, dict(given)), eval(
        code, {name: t.clone(memory_format=torch.contiguous_format) for name, t in given.items()}
    )


def plain(value):
    if isinstance(value, torch.Tensor):
        value = value.detach()
        if value.layout != torch.strided or value.numel() > 10**5:
            return [str(value.dtype), tuple(value.shape)]
        wide = value.to(torch.complex128 if value.is_complex() else torch.float64)
        return [str(value.dtype), tuple(value.shape), np.array(wide.resolve_conj().numpy())]
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return value if isinstance(value, (int, float, complex, str)) else type(value).__name__


def alike(found, wanted):
    if isinstance(wanted, np.ndarray):
        with np.errstate(all="ignore"):
            return bool(np.allclose(found, wanted, rtol=2e-2, atol=1e-2, equal_nan=True))
    if isinstance(wanted, list):
        return isinstance(found, list) and len(found) == len(wanted) and all(map(alike, found, wanted))
    if isinstance(wanted, float):
        return isinstance(found, float) and (math.isclose(found, wanted, rel_tol=0.02, abs_tol=0.01) or found != found)
    return type(found) is type(wanted) and bool(found == wanted)


def stopped(*_):
    raise TimeoutError


def outcome(function, given):
    torch.manual_seed(0)
    try:
        made = function(*given)
        return [plain(made), plain([each for each in given if isinstance(each, torch.Tensor)])]
    except Exception as error:
        return type(error).__name__


def differs(space, name, function, pattern, layout, dtype, shape):
    """Return what a case gives that differs, as a sentence; None where nothing does."""
    try:
        given, same = arguments(pattern, layout, dtype, shape)
    except (IndexError, RuntimeError, TypeError):
        return None  # such arguments there are not
    found, wanted = outcome(function, given), outcome(function, same)
    if name in CHANCE or name in PLACES or isinstance(wanted, str):
        return None
    if isinstance(found, str):  # what is expanded or read-only is not written
        writes = name.endswith("_") or name.startswith("__i") or name == "__setitem__" or space == "F"  # inplace=True
        return None if writes and layout in (expanded, read_only) else f"{found} for {wanted}"
    return None if alike(found, wanted) else f"{found} is not {wanted}"


def shown(space, name, _, pattern, layout, dtype, shape):
    return f"{space}.{name}({pattern}) {layout.__name__} {dtype} {shape}"


def swept(rounds, start=0, every=1):
    """Each case that differs, with what does."""
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        for number, case in enumerate(cases(rounds)):
            if number >= start and number % every == 0:
                yield number, case, differs(*case)


if __name__ == "__main__":
    rounds, start, every = (int(each) for each in [*sys.argv[1:], *"101"[len(sys.argv) - 1 :]])
    wrong = count = 0
    signal.signal(signal.SIGALRM, stopped)
    for number, case, said in swept(rounds, start, every):
        signal.setitimer(signal.ITIMER_REAL, 20)
        count += 1
        if said:
            wrong += 1
            print(number, shown(*case), " ".join(said.split())[:300], flush=True)
    print(f"{count} cases, {wrong} differ")

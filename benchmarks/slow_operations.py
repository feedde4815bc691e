"""Operations that users meet, beside PyTorch in one run: middle sizes, where the engine was slow at first.

    python benchmarks/slow_operations.py [--only REGEX] [--rounds N] [--write]

One thread each, CPU time, medians of rounds in which the two take turns; results are compared first, those of random draws to
the number. A ratio above 1 means that PyTorch is faster. Needs the `torch` extra.
"""
# ruff: noqa: E402

from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

import argparse
import io
import math
import re
import statistics
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from operations import compare

from autograph_cli import torch as ours
from autograph_cli.cli import tuning

# Names in an expression: `x`, `y` of 65,536 numbers, `u` of numbers from 0 to 1, `m`, `n` matrices (256, 256), `s` (64, 64),
# `h`, `b` halves of m and bfloat16, `k` whole numbers, `i` (256, 256) of them, `im` images (8, 8, 32, 32), `c` complex,
# `p` positive definite; after an arrow, also the gradient of the sum by what is named there.
EXPRESSIONS = """
gamma: torch._standard_gamma(u[:10000] + 1.5)
poisson: torch.poisson(u[:10000] * 8)
dirichlet: torch._sample_dirichlet(u[:10000].view(1000, 10) + 0.5)
binomial: torch.binomial(big[:10000], u[:10000])
beta: D.Beta(u[:10000] + 0.5, u[:10000] + 1).sample()
mode: k[:10000].view(100, 100).mode(1)
half mul add: h * h + h
ldl_factor: torch.linalg.ldl_factor(p)
randperm: torch.randperm(65536)
erfinv: torch.erfinv(u[:10000])
ndtri: torch.special.ndtri(u[:10000])
half sum: h.sum()
pdist: F.pdist(x[:6400].view(100, 64))
y[k] = k in a loop: fill_in(torch)
embedding_bag sum: F.embedding_bag(i[:, :16], m, mode='sum')
remainder: torch.remainder(x, 0.7)
float(x[k]) in a loop: read_out(x)
prod rows: m.prod(1)
DataLoader, 32, shuffled: sum(len(a) for a, _ in loader)
grid_sample: F.grid_sample(im, grid, align_corners=False) -> im
int64 matmul: i @ i
bfloat16 mul add: b * b + b
cummax: m.cummax(1)
ctc_loss: F.ctc_loss(logs, labels, (50,) * 16, (10,) * 16) -> logs
cdist p=1: torch.cdist(m[:, :16], n[:, :16], p=1)
clip_grad_norm_, 50 parameters: torch.nn.utils.clip_grad_norm_(parameters, 1e6)
embedding_bag mean: F.embedding_bag(i[:, :16], m, mode='mean')
bfloat16 sum: b.sum()
half matmul: h @ h
bessel_j0: torch.special.bessel_j0(x[:10000])
kron: torch.kron(s[:16, :16], s[:16, :16])
sparse mm: torch.sparse.mm(sparse, m)
polygamma 1: torch.polygamma(1, u[:10000] + 0.5)
fractional_max_pool2d: F.fractional_max_pool2d(im, 3, output_size=(16, 16), _random_samples=samples) -> im
stft: torch.stft(x[:16384], 256, window=window, return_complex=True)
roll flip: m.roll(3, 0).flip(1)
scatter_reduce amax: x.scatter_reduce(0, k, y, 'amax')
rfft2: torch.fft.rfft2(m)
multinomial without replacement: torch.multinomial(u.view(64, 1024)[:16], 100)
embedding_bag max: F.embedding_bag(i[:, :16], m, mode='max')
bfloat16 softmax: b.softmax(-1)
bfloat16 matmul: b[:64] @ b[:, :64]
spectral_norm step: spectral(s)
torch.tensor(list): torch.tensor(listed)
depthwise conv2d: F.conv2d(im, depthwise, groups=8, padding=1) -> im depthwise
erfcx: torch.special.erfcx(x[:10000])
cdist: torch.cdist(m[:, :16], n[:, :16])
multinomial: torch.multinomial(u.view(64, 1024)[:16], 100, replacement=True)
randint: torch.randint(0, 1000, (65536,))
index_add: m.index_add(0, k[:256] % 256, n)
cross_entropy: F.cross_entropy(m, k[:256] % 256) -> m
gelu: F.gelu(m)
jacobian: torch.autograd.functional.jacobian(lambda z: (z @ s).tanh(), s[0, :32] @ s[:32])
bincount: torch.bincount(k)
istft: torch.istft(spectrum, 256, window=window)
attention: F.scaled_dot_product_attention(heads, heads, heads) -> heads
inv batch: torch.linalg.inv(batch)
median: x.median()
cumprod: m.cumprod(1)
hessian: torch.autograd.functional.hessian(lambda z: (z ** 3).sum() * z.sum(), s[0, :16])
searchsorted: torch.searchsorted(ordered, y)
logcumsumexp: m.logcumsumexp(1)
randn: torch.randn(65536)
LSTM layer: lstm(sequence)[0] -> sequence
i0e: torch.special.i0e(x[:10000])
einsum: torch.einsum('ij,kj->ik', m, n)
gather: m.gather(1, i)
dropout: F.dropout(x, 0.5)
half exp: h.exp()
masked_select: m[m > 0]
max_pool2d: F.max_pool2d(im, 2) -> im
conv2d: F.conv2d(im, kernel, padding=1) -> im kernel
complex mul exp: (c * c).exp()
complex matmul: c.view(256, 256) @ c.view(256, 256)
fft: torch.fft.fft(c)
kthvalue: x.kthvalue(1000)
digamma: torch.digamma(u[:10000] + 0.5)
xlogy: torch.xlogy(u, u)
tolist: x[:10000].tolist()
adaptive_avg_pool2d: F.adaptive_avg_pool2d(im, 5) -> im
quantile: x.quantile(0.3)
conv1d: F.conv1d(im.flatten(2), kernel[:, :, 0], padding=1) -> im
log_normal_: torch.empty(65536).log_normal_()
bernoulli: torch.bernoulli(u)
sort rows: m.sort(1)
sort: x.sort()[0]
func.jacrev: torch.func.jacrev(lambda z: (z @ s).tanh())(s[0, :32] @ s[:32])
matrix_exp: torch.linalg.matrix_exp(s / 64)
lgamma: u.lgamma()
argsort stable: x.argsort(stable=True)
interpolate nearest: F.interpolate(im, scale_factor=2) -> im
int64 add: k + k
batch_norm: F.batch_norm(im, None, None, training=True) -> im
histc: x.histc(100)
exponential_: torch.empty(65536).exponential_()
geometric_: torch.empty(65536).geometric_(0.3)
int64 floor_divide: k // 7
conv_transpose2d: F.conv_transpose2d(im, transposed, stride=2) -> im
cholesky: torch.linalg.cholesky(p)
where: torch.where(m > 0, m, n)
conv3d: F.conv3d(im[None], volume, padding=1) -> im
zeta: torch.special.zeta(u[:10000] + 1.5, u[:10000] + 0.5)
cauchy_: torch.empty(65536).cauchy_()
polygamma 2: torch.polygamma(2, u[:10000] + 0.5)
unfold fold: F.fold(F.unfold(im, 3), (32, 32), 3)
interpolate bilinear: F.interpolate(im, scale_factor=2, mode='bilinear') -> im
irfft: torch.fft.irfft(c)
topk: m.topk(5, 1)
pow of tensors: m.abs() ** n
nonzero: (m > 0).nonzero()
norm p=3: m.norm(3)
argmax: m.argmax(1)
var rows: m.var(1)
isin: torch.isin(k, k[:10])
unique: k.unique()
interpolate bicubic: F.interpolate(im, scale_factor=2, mode='bicubic') -> im
cumsum: m.cumsum(1)
SGD step, 50 parameters: SGD.step()
SGD momentum step, 50 parameters: momentum.step()
Adam step, 50 parameters: Adam.step()
AdamW step, 50 parameters: AdamW.step()
save and load: torch.load(saved(torch, parameters))
per-sample gradients (vmap): torch.func.vmap(torch.func.grad(lambda w, row: (w @ row).tanh().sum()), (None, 0))(s, s)
"""


def fill_in(torch: Any) -> Any:
    """A tensor written element by element."""
    y = torch.zeros(1000)
    for k in range(1000):
        y[k] = k
    return y


def read_out(x: Any) -> float:
    """The sum of numbers that are read one by one."""
    return sum(float(x[k]) for k in range(1000))


def saved(torch: Any, parameters: list[Any]) -> Any:
    """Parameters as a file."""
    file = io.BytesIO()
    torch.save({f"p{i}": p.detach() for i, p in enumerate(parameters)}, file)
    file.seek(0)
    return file


def names(engine: Any) -> dict[str, Any]:
    """Return what the names in an expression mean on one engine."""
    engine.manual_seed(0)
    nn, made = engine.nn, np.random.default_rng(0)
    randn = lambda *shape: engine.tensor(made.standard_normal(shape).astype(np.float32))  # noqa: E731
    x, y, u = randn(65536), randn(65536), engine.tensor(made.random(65536).astype(np.float32))
    m, n, im = x.view(256, 256), y.view(256, 256), randn(8, 8, 32, 32)
    k = engine.randint(0, 256, (65536,))
    labels, logs = engine.randint(1, 20, (16, 10)), randn(50, 16, 20).log_softmax(-1)
    table = engine.utils.data.TensorDataset(randn(2048, 8), engine.arange(2048))
    known = {
        "x": x, "y": y, "u": u, "m": m, "n": n, "s": m[:64, :64].contiguous(), "k": k, "i": k.view(256, 256), "im": im,
        "h": m.half(), "b": m.bfloat16(), "c": engine.complex(x, y), "big": engine.full((10000,), 40.0),
        "p": m[:128] @ m[:128].t(), "batch": randn(64, 16, 16) + 8 * engine.eye(16), "ordered": x.sort()[0],
        "grid": engine.rand(8, 32, 32, 2) * 2 - 1, "labels": labels, "logs": logs, "samples": engine.rand(8, 8, 2),
        "window": engine.hann_window(256), "sparse": (m * (n > 1.5)).to_sparse(), "listed": x[:10000].view(100, 100).tolist(),
        "kernel": randn(8, 8, 3, 3), "depthwise": randn(8, 1, 3, 3), "transposed": randn(8, 8, 2, 2),
        "volume": randn(4, 8, 3, 3, 3), "heads": randn(4, 4, 64, 32), "sequence": randn(32, 8, 32),
        "spectrum": engine.stft(x[:16384], 256, window=engine.hann_window(256), return_complex=True),
        "loader": engine.utils.data.DataLoader(table, batch_size=32, shuffle=True),
        "spectral": nn.utils.parametrizations.spectral_norm(nn.Linear(64, 64)), "lstm": nn.LSTM(32, 32),
        "parameters": [engine.full((10, 10), 0.5).requires_grad_() for _ in range(50)],
    }  # fmt: skip
    for parameter in known["parameters"]:
        parameter.grad = engine.full((10, 10), 0.01)
    for name, kind, options in (
        ("SGD", "SGD", {}),
        ("momentum", "SGD", {"momentum": 0.9}),
        ("Adam", "Adam", {}),
        ("AdamW", "AdamW", {}),
    ):
        known[name] = getattr(engine.optim, kind)(known["parameters"], lr=1e-9, **options)
    helpers = {"fill_in": fill_in, "read_out": read_out, "saved": saved}
    return known | helpers | {"torch": engine, "F": nn.functional, "D": engine.distributions}


def rows() -> dict[str, tuple[str, list[str]]]:
    """The expression of each row, and by what its sum is differentiated."""
    split = (line.partition(": ") for line in EXPRESSIONS.strip().split("\n"))
    parts = ((name, rest.partition(" -> ")) for name, _, rest in split)
    return {name: (expression, wanted.split()) for name, (expression, _, wanted) in parts}


def turn_of(engine: Any, known: dict[str, Any], expression: str, wanted: list[str]) -> Callable[[], Any]:
    """One turn of a row."""
    names_here = known | {name: known[name].detach().clone().requires_grad_() for name in wanted}
    run = eval(f"lambda: {expression}", names_here)
    if not wanted:
        return run  # type: ignore[no-any-return]
    by = [names_here[name] for name in wanted]
    return lambda: engine.autograd.grad(run().sum(), by)


def told(found: Any) -> list[Any]:
    """The numbers of a result."""
    if isinstance(found, (tuple, list)):
        return [number for each in found for number in told(each)]
    if isinstance(found, dict):
        return told(list(found.values()))
    if hasattr(found, "detach"):
        found = found.detach()
        found = found.to_dense() if found.is_sparse else found
        return (found.abs() if found.is_complex() else found).double().reshape(-1).tolist()  # type: ignore[no-any-return]
    return [found] if isinstance(found, (int, float)) else []


def equal(mine: Any, other: Any, close: float) -> bool:
    """Return whether two results have the same numbers, but for rounding."""
    a, b = told(mine), told(other)
    return len(a) == len(b) and all(
        p == q or abs(p - q) <= close * max(1.0, abs(q)) or (p != p and q != q) for p, q in zip(a, b, strict=True)
    )


def main() -> None:
    import torch as theirs

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="a regular expression that names must match")
    parser.add_argument("--rounds", type=int, default=5, help="measurements of each")
    parser.add_argument("--write", action="store_true", help="put the table into benchmarks/README.md")
    asked = parser.parse_args()
    theirs.set_num_threads(1)
    tuning.tune()  # as `autograph run` does
    warnings.simplefilter("ignore")
    engines, found = (ours, theirs), []
    known = [names(engine) for engine in engines]
    for name, (expression, wanted) in rows().items():
        if not re.search(asked.only, name):
            continue
        for engine in engines:
            engine.manual_seed(1)
        runs = [turn_of(engine, its, expression, wanted) for engine, its in zip(engines, known, strict=True)]
        same = equal(*(run() for run in runs), 0.02 if "half" in name or "bfloat16" in name else 1e-3)
        mine, other = compare(runs, asked.rounds)
        found.append((mine / other, name, mine * 1e3, other * 1e3, "equal" if same else "**differ**"))
        print(f"{found[-1][0]:8.2f}  {name:32} {mine * 1e3:10.3f} {other * 1e3:10.3f}  {found[-1][4]}", flush=True)
    ratios = [row[0] for row in found]
    said = (
        f"geometric mean {math.exp(statistics.fmean(map(math.log, ratios))):.2f}, above 3 times: "
        f"{sum(r > 3 for r in ratios)}, above 10: {sum(r > 10 for r in ratios)}, of {len(ratios)}"
    )
    print(said)
    if asked.write:
        import tables

        lines = [[n, f"{r:.2f}", f"{a:.3f}", f"{b:.3f}", same] for r, n, a, b, same in sorted(found, reverse=True)]
        head = ["operation", "ratio", "here, ms", "PyTorch, ms", "results"]
        tables.put("benchmarks/slow_operations.py", tables.table(head, lines, f"PyTorch {theirs.__version__}; {said}"))


if __name__ == "__main__":
    main()

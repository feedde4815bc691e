"""Time of each common operation, forward and with its gradients, beside real PyTorch in one interleaved run.

    python benchmarks/operations.py                       all of them, the slowest beside PyTorch first
    python benchmarks/operations.py --only 'norm|gelu'    those whose name matches

One thread each, CPU time, medians of rounds in which the two engines take turns; ratios over 1 mean that PyTorch is faster.
Needs the `torch` extra.
"""
# ruff: noqa: E402

from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

import argparse
import math
import re
import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any

from autograph_cli import torch as ours
from autograph_cli.cli import tuning

PER_TURN = 2e-3
"""Seconds that one measurement lasts at least."""

# Sizes: side of square matrices; (batch, channels, height) of images; (steps, batch, features) of sequences.
SIZES = {
    "tiny": (4, (1, 2, 6), (2, 1, 4)),
    "small": (64, (8, 8, 16), (16, 8, 32)),
    "medium": (512, (32, 16, 32), (64, 32, 128)),
}

# Names in an expression: `x`, `y`, `w` matrices (n, n), `p` a positive definite one, `d` x in float64, `r` a row, `b` a batch of
# 4 matrices, `i` class indices, `j` indices (n, n), `m` a mask, `im` images, `k`, `k1`, `kt`, `kd` kernels, `c` a number for each
# channel, `s` a sequence, `h` heads (batch, 4, steps, features), and the modules made from MODULES.
EXPRESSIONS = """
add x + y|mul x * y|div x / y|sub_row x - r|add_number x + 1.5|pow2 x ** 2|pow3 x ** 3|pow_half p.abs() ** 0.5|pow_tensor p.abs() ** y
neg -x|abs x.abs()|exp x.exp()|log p.abs().log()|sqrt p.abs().sqrt()|rsqrt p.abs().rsqrt()|sin x.sin()|cos x.cos()|tan x.tan()
tanh x.tanh()|sigmoid x.sigmoid()|erf x.erf()|expm1 x.expm1()|log1p x.abs().log1p()|atan x.atan()|reciprocal x.reciprocal()
exp64 d.exp()|tanh64 d.tanh()|sigmoid64 d.sigmoid()|erf64 d.erf()|gelu64 F.gelu(d)|softmax64 d.softmax(-1)|lgamma p.abs().lgamma()
relu x.relu()|gelu F.gelu(x)|gelu_tanh F.gelu(x, approximate='tanh')|silu F.silu(x)|elu F.elu(x)|leaky_relu F.leaky_relu(x)
softplus F.softplus(x)|mish F.mish(x)|hardswish F.hardswish(x)|logsigmoid F.logsigmoid(x)|selu F.selu(x)|glu F.glu(x)|prelu F.prelu(x, r[:1])
softmax x.softmax(-1)|softmax_first x.softmax(0)|log_softmax x.log_softmax(-1)|logsumexp x.logsumexp(-1)|clamp x.clamp(-0.5, 0.5)
maximum torch.maximum(x, y)|minimum torch.minimum(x, y)|where torch.where(m, x, y)|masked_fill x.masked_fill(m, 0.0)|lerp torch.lerp(x, y, 0.3)
addcmul torch.addcmul(x, y, w)|hypot torch.hypot(x, y)|floor x.floor()|sign x.sign()|compare x > y|cast x.double()|square x.square()
sum x.sum()|sum_rows x.sum(1)|sum_columns x.sum(0)|mean x.mean()|mean_rows x.mean(-1)|var x.var()|var_rows x.var(-1)|std x.std()
std_columns x.std(0)|max x.max()|max_rows x.max(1)[0]|amax_columns x.amax(0)|argmax x.argmax(1)|norm x.norm()|norm_rows x.norm(dim=1)|prod r.prod()
cumsum x.cumsum(1)|cumsum_columns x.cumsum(0)|cumprod x.cumprod(1)|sort x.sort(1)[0]|topk x.topk(2, 1)[0]|median x.median(1)[0]|kthvalue x.kthvalue(2, 1)[0]
any m.any()|all m.all(1)|nonzero m.nonzero()|unique j.unique()|cdist torch.cdist(x, y)|cosine F.cosine_similarity(x, y)
matmul x @ y|linear F.linear(x, w, r)|mv x @ r|dot r @ r|bmm b @ b|addmm torch.addmm(r, x, y)|einsum torch.einsum('ij,kj->ik', x, y)|outer torch.outer(r, r)
einsum_batch torch.einsum('bij,bjk->bik', b, b)|einsum_sum torch.einsum('ij,ij->i', x, y)|bilinear F.bilinear(x[:4], y[:4], b)
cat torch.cat((x, y))|cat_columns torch.cat((x, y), 1)|stack torch.stack((x, y))|chunk x.chunk(2)[0]|split_all torch.cat(x.split(2))|transpose x.t().contiguous()
permute b.permute(2, 0, 1).contiguous()|expand r.expand(x.shape[0], -1) * x|repeat x.repeat(2, 2)|flip x.flip(0)|roll x.roll(1, 0)|pad F.pad(x, (1, 1, 1, 1))
slice x[1:, :-1]|row x[1]|index_rows x[i]|index_mask x[m]|index_select x.index_select(0, i)|gather x.gather(1, j)|scatter_add x.scatter_add(1, j, y)
index_add x.index_add(0, i, y)|take_along torch.take_along_dim(x, j, 1)|tril x.tril()|diag x.diagonal()|put x.index_put((i,), y)|scatter x.scatter(1, j, y)
embedding F.embedding(i, w)|embedding_many F.embedding(j, w)|one_hot F.one_hot(i, x.shape[0])|unfold x.unfold(0, 2, 1).contiguous()
mse F.mse_loss(x, y)|l1 F.l1_loss(x, y)|smooth_l1 F.smooth_l1_loss(x, y)|huber F.huber_loss(x, y)|cross_entropy F.cross_entropy(x, i)|nll F.nll_loss(x, i)
bce F.binary_cross_entropy(x.sigmoid(), y.sigmoid().detach())|bce_logits F.binary_cross_entropy_with_logits(x, y.detach())|kl F.kl_div(x, y.exp().detach())
cross_entropy_soft F.cross_entropy(x, y.softmax(1).detach())|cross_entropy_smooth F.cross_entropy(x, i, label_smoothing=0.1)|triplet F.triplet_margin_loss(x, y, w)
layer_norm F.layer_norm(x, x.shape[-1:], r, r)|rms_norm F.rms_norm(x, x.shape[-1:], r)|normalize F.normalize(x)|batch_norm_rows F.batch_norm(x, None, None, r, r, True)
layer_norm_plain F.layer_norm(x, x.shape[-1:])|layer_norm_sequence F.layer_norm(s, s.shape[-1:])|batch_norm F.batch_norm(im, None, None, c, c, True)
batch_norm_eval F.batch_norm(im, c.detach(), c.detach().abs(), c, c)|group_norm F.group_norm(im, 2, c, c)|instance_norm F.instance_norm(im)
dropout F.dropout(x, 0.5)|randn torch.randn(x.shape)|rand torch.rand(x.shape)|bernoulli torch.bernoulli(y.sigmoid().detach())|normal torch.normal(x.detach(), 1.0)
conv2d F.conv2d(im, k, padding=1)|conv2d_stride F.conv2d(im, k, stride=2)|conv2d_depthwise F.conv2d(im, kd, groups=im.shape[1])|conv2d_1x1 F.conv2d(im, k1)
conv1d F.conv1d(im.flatten(2), k[:, :, 0])|conv_transpose2d F.conv_transpose2d(im, kt, stride=2)|max_pool2d F.max_pool2d(im, 2)|avg_pool2d F.avg_pool2d(im, 2)
max_pool_3 F.max_pool2d(im, 3, 2, 1)|adaptive_pool F.adaptive_avg_pool2d(im, 2)|global_pool im.mean((2, 3))|interpolate F.interpolate(im, scale_factor=2)
bilinear_up F.interpolate(im, scale_factor=2, mode='bilinear')|pad_image F.pad(im, (1, 1, 1, 1))|unfold_image F.unfold(im, 3)|reflect F.pad(im, (1, 1, 1, 1), mode='reflect')
attention F.scaled_dot_product_attention(h, h, h)|attention_causal F.scaled_dot_product_attention(h, h, h, is_causal=True)
multihead multihead_(s, s, s)[0]|lstm lstm_(s)[0]|lstm_two lstm_two_(s)[0]|gru gru_(s)[0]|rnn rnn_(s)[0]|lstm_cell lstm_cell_(s[0])[0]|gru_cell gru_cell_(s[0])
encoder encoder_(s)|mlp mlp_(x)|lenet lenet_(im)
solve torch.linalg.solve(p, x)|inv torch.linalg.inv(p)|det torch.linalg.det(p / p.shape[0])|slogdet torch.linalg.slogdet(p)[1]|cholesky torch.linalg.cholesky(p)
qr torch.linalg.qr(x)[1]|svdvals torch.linalg.svdvals(x)|svd torch.linalg.svd(x)[1]|eigh torch.linalg.eigh(p)[0]|lu_factor torch.linalg.lu_factor(p)[0]|lu torch.linalg.lu(p)[2]
triangular torch.linalg.solve_triangular(p, x, upper=True)|triangular_lower torch.linalg.solve_triangular(p, x, upper=False)|cholesky_solve torch.cholesky_solve(x, p)
triangular_vector torch.linalg.solve_triangular(p, x[:, :1], upper=True)|matrix_exp torch.linalg.matrix_exp(p / p.shape[0])|pinv torch.linalg.pinv(x)|lstsq torch.linalg.lstsq(p, x)[0]
lu_batch torch.linalg.lu_factor(b + 4 * p)[0]|triangular_batch torch.linalg.solve_triangular(b + 4 * p, b, upper=True)|solve_batch torch.linalg.solve(b + 4 * p, b)
fft torch.fft.rfft(x).abs()|in_place x.clone().mul_(2).add_(y)|views_in_row changes(x.clone())|custom Square.apply(x)|per_sample per_sample(x, y)
"""
MODULES = {
    "multihead_": lambda nn, f: nn.MultiheadAttention(f, 4),
    "lstm_": lambda nn, f: nn.LSTM(f, f),
    "lstm_two_": lambda nn, f: nn.LSTM(f, f, num_layers=2, bidirectional=True),
    "gru_": lambda nn, f: nn.GRU(f, f),
    "rnn_": lambda nn, f: nn.RNN(f, f),
    "lstm_cell_": lambda nn, f: nn.LSTMCell(f, f),
    "gru_cell_": lambda nn, f: nn.GRUCell(f, f),
    "encoder_": lambda nn, f: nn.TransformerEncoderLayer(f, 4, 2 * f, dropout=0.0),
}
OPTIMIZERS = {"SGD": {}, "SGD momentum": {"momentum": 0.9}, "Adam": {}, "AdamW": {}, "RMSprop": {}, "Adagrad": {}}


def cases() -> dict[str, str]:
    """The expression of each name."""
    return dict(case.split(" ", 1) for line in EXPRESSIONS.split("\n") if line for case in line.split("|"))  # type: ignore[misc]


def names(engine: Any, size: str) -> dict[str, Any]:
    """Return what the names in an expression mean on one engine."""
    n, (batch, channels, side), (steps, many, features) = SIZES[size]
    engine.manual_seed(0)
    new = lambda *shape: engine.randn(*shape).requires_grad_()  # noqa: E731
    square = engine.randn(n, n)
    nn = engine.nn
    made = {
        "x": new(n, n),
        "y": new(n, n),
        "w": new(n, n),
        "r": new(n),
        "b": new(4, n, n),
        "d": square.double().requires_grad_(),
        "p": (square @ square.t() / n + engine.eye(n)).requires_grad_(),
        "i": engine.randint(0, n, (n,)),
        "j": engine.randint(0, n, (n, n)),
        "m": square > 0,
        "im": new(batch, channels, side, side),
        "c": new(channels),
        "k": new(2 * channels, channels, 3, 3),
        "k1": new(2 * channels, channels, 1, 1),
        "kt": new(channels, channels, 2, 2),
        "kd": new(channels, 1, 3, 3),
        "s": new(steps, many, features),
        "h": new(many, 4, steps, max(features // 4, 1)),
    }
    made |= {name: make(nn, features) for name, make in MODULES.items()}
    made["mlp_"] = nn.Sequential(nn.Linear(n, n), nn.ReLU(), nn.Linear(n, n), nn.Tanh(), nn.Linear(n, 2))
    made["lenet_"] = nn.Sequential(
        nn.Conv2d(channels, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.LazyLinear(10)
    )
    made["lenet_"](made["im"])
    made["Square"] = type(
        "Square",
        (engine.autograd.Function,),
        {
            "forward": staticmethod(lambda ctx, x: (ctx.save_for_backward(x), x * x)[1]),
            "backward": staticmethod(lambda ctx, grad: 2 * grad * ctx.saved_tensors[0]),
        },
    )
    made["changes"], made["per_sample"] = changes, per_sample(engine)
    return made | {"torch": engine, "F": nn.functional}


def changes(x: Any) -> Any:
    """Ten changes of one view in a row."""
    row = x[0]
    for _ in range(10):
        row.mul_(1.5)
    return x


def per_sample(engine: Any) -> Callable[[Any, Any], Any]:
    """The gradient of a loss by the weights, for each row of a batch."""

    def loss(weight: Any, row: Any) -> Any:
        return (weight @ row).tanh().sum()

    return engine.func.vmap(engine.func.grad(loss), (None, 0))  # type: ignore[no-any-return]


def pair_of_runs(engine: Any, expression: str, size: str) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """The expression forward, and forward and backward to all that it uses."""
    known = names(engine, size)
    code = compile(expression, expression, "eval")
    used = [known[name] for name in code.co_names if name in known]
    wanted = [t for t in used if isinstance(t, engine.Tensor) and t.requires_grad]
    wanted += [p for t in used if isinstance(t, engine.nn.Module) for p in t.parameters()]

    def forward() -> Any:
        return eval(code, known)

    out = forward()
    ones = engine.ones_like(out) if out.is_floating_point() else None

    def both() -> Any:
        engine.autograd.grad(forward(), wanted, ones, allow_unused=True)

    return forward, (both if wanted and out.requires_grad else forward)


def turn(run: Callable[[], Any], times: int) -> float:
    """CPU seconds of one run."""
    start = time.process_time()
    for _ in range(times):
        run()
    return (time.process_time() - start) / times


def compare(runs: list[Callable[[], Any]], rounds: int) -> tuple[float, float]:
    """Median seconds of ours and of PyTorch's."""
    times = []
    for run in runs:
        run()
        times.append(max(1, math.ceil(PER_TURN / max(turn(run, 2), 1e-7))))
    taken = [[turn(run, n) for run, n in zip(runs, times, strict=True)] for _ in range(rounds)]
    return statistics.median(t[0] for t in taken), statistics.median(t[1] for t in taken)


def optimizer(engine: Any, kind: str, side: int) -> Callable[[], Any]:
    """A step over ten square matrices."""
    parameters = [engine.ones(side, side).requires_grad_() for _ in range(10)]
    for p in parameters:
        p.grad = engine.full_like(p.detach(), 0.01)
    return getattr(engine.optim, kind.split()[0])(parameters, lr=1e-3, **OPTIMIZERS[kind]).step  # type: ignore[no-any-return]


def measured(theirs: Any, wanted: re.Pattern[str], sizes: list[str], rounds: int) -> list[tuple[float, str]]:
    """The ratio and the line of each measurement."""
    rows = []
    for size in sizes:
        work = {
            (name, part): (lambda engine, e=expression, s=size, at=i: pair_of_runs(engine, e, s)[at])
            for name, expression in cases().items()
            for i, part in enumerate(("forward", "and back"))
        } | {(name, "step"): (lambda engine, k=name, n=SIZES[size][0]: optimizer(engine, k, n)) for name in OPTIMIZERS}
        for (name, part), make in work.items():
            if wanted.search(name):
                mine, other = compare([make(ours), make(theirs)], rounds)
                line = f"{mine / other:6.2f}  {name:20} {size:7} {part:8} {mine * 1e6:10.1f} {other * 1e6:10.1f}"
                rows.append((mine / other, line))
    return rows


def main() -> None:
    import torch as theirs

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="a regular expression that names must match")
    parser.add_argument("--size", choices=SIZES, help="one of the sizes; all without it")
    parser.add_argument("--rounds", type=int, default=7, help="measurements of each")
    asked = parser.parse_args()
    theirs.set_num_threads(1)
    tuning.tune()  # as `autograph run` does
    warnings.simplefilter("ignore")
    rows = measured(theirs, re.compile(asked.only), [asked.size] if asked.size else list(SIZES), asked.rounds)
    print(f"{'ratio':>6}  {'operation':20} {'size':7} {'part':8} {'autograph':>10} {'PyTorch':>10}   (us)")
    for _, line in sorted(rows, reverse=True):
        print(line)
    for size in SIZES:
        found = [ratio for ratio, line in rows if f" {size} " in line]
        if found:
            middle = math.exp(statistics.fmean(map(math.log, found)))
            print(
                f"{size}: geometric mean {middle:.2f}, faster than PyTorch in {sum(r < 1 for r in found)} of {len(found)}"
            )


if __name__ == "__main__":
    main()

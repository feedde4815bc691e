"""Records with real PyTorch what functions give for nan, infinities, zeros of both signs and no elements, into special_values.json.

`python -m tests.torch.ops.record_special_values` from the repository's root.
"""

import json
import math
from pathlib import Path

EXPECTED = Path(__file__).with_name("special_values.json")

VALUES = [math.nan, -math.inf, -3.7, -1.0, -0.0, 0.0, 0.5, 1.0, math.inf]
DTYPES = ("float32", "float64", "float16", "bfloat16")

ONE = [
    "x.sign()",
    "x.sgn()",
    "x.signbit()",
    "x.abs()",
    "-x",
    "x.ceil()",
    "x.floor()",
    "x.trunc()",
    "x.round()",
    "x.frac()",
    "x.sqrt()",
    "x.exp()",
    "x.expm1()",
    "x.log()",
    "x.log1p()",
    "x.sin()",
    "x.tan()",
    "x.atan()",
    "x.asinh()",
    "x.tanh()",
    "x.sigmoid()",
    "x.erf()",
    "x.square()",
    "x.isnan()",
    "x.isfinite()",
    "x.logical_not()",
    "x.nan_to_num()",
    "x.angle()",
    "x**2",
    "x**-1",
    "x**0",
    "x**3",
    "x.relu()",
    "F.relu6(x)",
    "F.elu(x)",
    "F.selu(x)",
    "F.celu(x)",
    "F.hardtanh(x)",
    "F.leaky_relu(x)",
    "F.silu(x)",
    "F.softplus(x)",
    "F.softsign(x)",
    "F.logsigmoid(x)",
    "x.clamp(-1,1)",
    "x.clamp_min(0)",
    "x.clamp_max(0)",
    "x.clamp(0)",
    "x.clamp(max=-0.)",
    "x.remainder(2)",
    "x.remainder(-2)",
    "x.fmod(2)",
    "x.copysign(-1.)",
    "x//2",
    "x.max(0)[0]",
    "x.max(0)[1]",
    "x.min(0)[0]",
    "x.min(0)[1]",
    "x.argmax()",
    "x.argmin()",
    "x.amax()",
    "x.amin()",
    "x.max()",
    "x.min()",
    "x.sort()[0]",
    "x.sort(stable=True)[1]",
    "x.sort(descending=True)[0]",
    "x.cummax(0)[0]",
    "x.cummax(0)[1]",
    "x.cummin(0)[0]",
    "x.cummin(0)[1]",
    "x.cumsum(0)",
    "x.cumprod(0)",
    "x.logcumsumexp(0)",
    "x.logsumexp(0)",
    "x.softmax(0)",
    "x.log_softmax(0)",
    "x.sum()",
    "x.prod()",
    "x.nansum()",
    "x.mean()",
    "x.nanmean()",
    "x.median()",
    "x.any()",
    "x.all()",
    "x.unique()",
    "x.count_nonzero()",
    "x.nonzero()",
    "x.diff()",
    "x[:0].sum()",
    "x[:0].prod()",
    "x[:0].logsumexp(0)",
    "x[:0].cumsum(0)",
    "x[:0].sort()[0]",
    "x[:0].softmax(0)",
    "x[:0].mean()",
    "x[:0].any()",
    "x[:0].relu()",
]
TWO = [
    "torch.heaviside(x,y)",
    "torch.copysign(x,y)",
    "torch.maximum(x,y).abs()",
    "torch.minimum(x,y).abs()",
    "torch.fmax(x,y).abs()",
    "torch.atan2(x,y)",
    "torch.fmod(x,y)",
    "torch.remainder(x,y)",
    "x**y",
    "x/y",
    "x//y",
    "x==y",
    "x<y",
    "x>=y",
    "torch.isclose(x,y)",
    "torch.isclose(x,y,equal_nan=True)",
    "torch.logical_xor(x,y)",
    "torch.where(x>y,x,y)",
    "torch.clamp(x,y,y+1).abs()",
    "torch.nextafter(x.float(),y.float())",
]


def cases():
    """Every function in every dtype."""
    return [f"{dtype} {code}" for dtype in DTYPES for code in (*ONE, *TWO)]


def observe(torch, case):
    """The dtype and the elements that a function gives, or the class of its error."""
    dtype, _, code = case.partition(" ")
    both = [(a, b) for a in VALUES for b in VALUES] if code in TWO else [(a, a) for a in VALUES]
    x, y = (torch.tensor([pair[i] for pair in both], dtype=getattr(torch, dtype)) for i in (0, 1))
    try:
        found = eval(code, {"torch": torch, "F": torch.nn.functional, "x": x, "y": y})
    except (RuntimeError, IndexError, NotImplementedError) as error:
        return type(error).__name__
    return [str(found.dtype), " ".join(f"{n:.7g}" for n in found.double().flatten().tolist())]


def main():
    import torch

    rows = (f"{json.dumps(case)}: {json.dumps(observe(torch, case))}" for case in cases())
    EXPECTED.write_text("{\n" + ",\n".join(rows) + "\n}\n")


if __name__ == "__main__":
    main()

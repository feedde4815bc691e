"""Records with real PyTorch what functions give for nan, infinities, zeros of both signs and no elements, into special_values.json.

`python -m tests.torch.ops.record_special_values` from the repository's root.
"""

import math
from pathlib import Path

from tests.torch.recording import record

EXPECTED = Path(__file__).with_name("special_values.json")

VALUES = [math.nan, -math.inf, -3.7, -1.0, -0.0, 0.0, 0.5, 1.0, math.inf]
MANY = [(7 * i) % 11 // 2 * 0.5 for i in range(40)]
"""Many equal elements, in no order."""
DTYPES = ("float32", "float64", "float16", "bfloat16")
WHOLE = {
    "bool": [False, True, True],
    "uint8": [0, 1, 7, 255],
    "int8": [-128, -7, 0, 1, 127],
    "int64": [-(2**63), -3, 0, 1, 2**62],
}
COMPLEX = [complex(a, b) for a in (math.nan, -math.inf, -2.5, 0.0, 1.0) for b in (-1.0, 0.0, math.inf)]

BAGS = "torch.tensor([[0,1,2,8],[2,0,1,7],[8,7,2,0],[4,5,4,5],[5,4,5,4]])"
"""Rows of `x`, of which nan is the first."""

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
    "x.logcumsumexp(0).exp()",
    "x.softmax(0)",
    "x.log_softmax(0)",
    "x.sum()",
    "x.prod()",
    "x.prod(0)",
    "x[2:8].prod()",
    "torch.tensor([300.,300,1e-3],dtype=x.dtype).prod()",
    "torch.full((40,),1.01,dtype=x.dtype).prod()",
    "torch.full((3,99),1.01,dtype=x.dtype).prod(1)",
    "torch.full((99,3),1.01,dtype=x.dtype).prod(0)",
    "torch.full((99,),1.01).prod(dtype=x.dtype)",
    "x.nansum()",
    "x.mean()",
    "x.nanmean()",
    "x.median()",
    "x.nanmedian()",
    "x.nanmedian(0)[1]",
    "torch.stack([x,x*0/0]).nanmedian(1)[1]",
    "x.mode()[0]",
    "x.mode()[1]",
    "x.kthvalue(4)[0]",
    "torch.cat([x,x]).mode()[1]",
    "torch.cat([x,x]).kthvalue(9)[1]",
    "torch.cat([x,x]).topk(7)[1]",
    "torch.cat([x,x]).topk(7,largest=False)[1]",
    "torch.cat([x,x]).topk(7,sorted=False)[1]",
    "many.topk(9)[1]",
    "many.topk(9,largest=False)[1]",
    "many.topk(9,sorted=False)[0]",
    "many.repeat(20).topk(5)[1]",
    "many.view(8,5).topk(3,0)[1]",
    "many.view(8,5).kthvalue(3,0)[1]",
    "many.view(2,20).mode(1)[1]",
    "many.mode()[1]",
    "many.kthvalue(20)[1]",
    "many.median(0)[1]",
    "torch.histc(many,4,0,2.5)",
    "torch.histc(torch.cat([many,-many*1e-4]),4,-2,2)",
    "torch.isin(x,x[:3])",
    "torch.searchsorted(torch.tensor([-1.,0,1],dtype=x.dtype),x)",
    "torch.searchsorted(torch.tensor([-1.,0,1],dtype=x.dtype),x,right=True)",
    "F.max_pool1d(x[None],3).abs()",
    "F.silu(many*20-25)",
    "F.mish(many*20-25)",
    "F.softplus(many*9)",
    "F.glu(many*20-25)",
    "F.logsigmoid(many*20-25)+0",
    "(many*1e4).round(decimals=2)",
    "(many*1e4).view(8,5).renorm(2,0,1.)",
    "torch.lerp(x,x*0+3e4,0.5)",
    "torch.special.i1(x)",
    "torch.special.i1e(x)",
    "torch.sinc(x)",
    "torch.ldexp(x,torch.tensor(3))",
    "torch.polygamma(2,x+2)",
    "torch.polygamma(1,x+2)",
    "torch.special.bessel_j0(x)",
    "x.erfinv()",
    "torch.special.ndtri(x)",
    "torch.special.ndtri(many/2.5)",
    "x.remainder(math.inf)",
    "x.remainder(-math.inf)",
    "x.half()",
    "x.bfloat16()",
    "x.double()*1e5",
    "torch.add(x,x,alpha=2)",
    "x*7e4",
    "7e4*x",
    "x/7e4",
    "many*0.1",
    "many/0.3",
    "0.3/many",
    "many*torch.tensor(0.1)",
    "torch.tensor(0.1)*many",
    "many/torch.tensor(0.3,dtype=torch.float64)",
    "many[5]*0.1",
    "many.clone().mul_(0.1)",
    "torch._foreach_mul([many],0.1)[0]",
    "torch.func.grad(lambda t:(t*0.1/0.3*many).sum())(many)",
    "F.leaky_relu(many-1,0.3)",
    "F.threshold(many*0.3,0.3,0.1)",
    "torch.lerp(many,many.flip(0),torch.tensor(0.3))",
    "x[2:8]@x[2:8]",
    "x[:,None]@x[None,3:]+0",
    *(f"F.embedding_bag({BAGS},x[:,None],mode='{mode}')" for mode in ("sum", "mean", "max")),
    f"F.embedding_bag({BAGS},x[:,None],mode='max',padding_idx=0)",
    *(f"F.pdist(x[:,None].expand(-1,2).contiguous(),{p})" for p in ("0.", "1.", "2.", "3.", "math.inf")),
    *(f"torch.cdist(x[:,None],x[3:,None],{p})" for p in ("0.", "1.", "2.", "3.", "math.inf")),
    "F.binary_cross_entropy(many/9,many)",
    "F.binary_cross_entropy(many/9,many/2.5)",
    "F.binary_cross_entropy(many,many/9)",
    *(
        f"F.embedding_bag(torch.tensor([0,1]),many[:12].view(3,4),torch.tensor({starts}))"
        for starts in ([0, 1], [0, 2], [0, 3], [0, -1], [0, 5, 1])
    ),
    "x**0.5",
    "x[:0].max(0)",
    "x[:0].argmax()",
    "x[:0].argmin(0)",
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
TWO = """
    torch.heaviside(x,y) torch.copysign(x,y) torch.maximum(x,y).abs() torch.minimum(x,y).abs() torch.fmax(x,y).abs()
    torch.atan2(x,y) torch.fmod(x,y) torch.remainder(x,y) x**y x/y x//y x==y x<y x>=y torch.isclose(x,y)
    torch.isclose(x,y,equal_nan=True) torch.logical_xor(x,y) torch.where(x>y,x,y) torch.clamp(x,y,y+1).abs()
    torch.nextafter(x.float(),y.float())
""".split()


GRADIENTS = [
    "F.elu(x)", "F.selu(x)", "F.celu(x)", "F.hardswish(x[1:])", "F.silu(x)", "F.softplus(x)", "F.gelu(x)",
    "torch.special.i0(x)", "x.prod()", "x[1:7].prod()", "x[3:].prod()", "x[3:].cumprod(0)", "many.topk(9)[0]",
    "many.view(8,5).topk(3,0,False)[0]", "many.kthvalue(20)[0]", "many.mode()[0]", "many.median(0)[0]",
    f"F.embedding_bag({BAGS},x[:,None],mode='max')",
]  # fmt: skip
"""What is differentiated once and twice."""
OTHERS = """
    torch.gcd(x,x[:1]) torch.logaddexp(x,x) torch.logaddexp(x,x.flip(0)) x.logcumsumexp(0) torch.logaddexp2(x,x)
    torch.nextafter(x,x) torch.hypot(x,x) torch.igamma(x,x) torch.lerp(x,x,0.5) torch.lerp(x,x,x) torch.deg2rad(x)
    torch.relu(x) torch.hypot(x,x[:1]) x.topk(1)[0] x.median(0)[0] x.mode()[0] torch.isin(x,x) torch.searchsorted(x,x)
    F.prelu(x,x[:1]) torch.heaviside(x,x) x[None].renorm(2,0,1.) torch.mvlgamma(x,2) torch.vdot(x,x)
    torch.dist(x,torch.ones(1)) torch.dist(x,torch.ones(1,dtype=torch.int32))
    torch.ldexp(x,torch.tensor([2.]).bfloat16()) torch.histc(x)
    torch.linalg.vector_norm(x.abs().double(),dtype=torch.half) torch.sinc(x)
    torch.segment_reduce(x,'max',lengths=torch.tensor([1,len(x)-1]))
""".split()
"""What is asked of whole and of complex numbers."""


def cases():
    """Every function in every dtype."""
    return [
        *(f"{dtype} {code}" for dtype in DTYPES for code in (*ONE, *TWO)),
        *(f"{dtype} {code}" for dtype in (*WHOLE, "complex64", "complex128") for code in OTHERS),
        *(
            f"{dtype} gradient{order} {code}"
            for dtype in ("float32", "float64")
            for order in (1, 2)
            for code in GRADIENTS
        ),
    ]


def observe(torch, case):
    """The dtype and the elements that a function gives, or the class of its error."""
    dtype, _, code = case.partition(" ")
    order, _, inner = code.partition(" ") if code.startswith("gradient") else ("", "", code)
    values = WHOLE.get(dtype) or (COMPLEX if "complex" in dtype else VALUES)
    both = [(a, b) for a in values for b in values] if code in TWO else [(a, a) for a in values]
    kind = getattr(torch, dtype)
    x, y = (torch.tensor([pair[i] for pair in both], dtype=kind) for i in (0, 1))
    names = {"torch": torch, "F": torch.nn.functional, "math": math, "x": x, "y": y}
    if dtype in DTYPES:
        names["many"] = torch.tensor(MANY, dtype=kind)
    try:
        found = differentiated(torch, inner, names, int(order[-1])) if order else eval(code, names)
    except (RuntimeError, IndexError, NotImplementedError) as error:
        return type(error).__name__
    if found.is_complex():
        found = torch.view_as_real(found.resolve_conj())
    if not found.dtype.is_floating_point:
        return [str(found.dtype), " ".join(str(int(n)) for n in found.flatten().tolist())]
    return [str(found.dtype), " ".join(f"{n:.7g}" for n in found.double().flatten().tolist())]


def differentiated(torch, code, names, order):
    """The first or second derivative of a function of `x` or `many`."""
    at = names["many" if "many" in code else "x"].requires_grad_()
    (grad,) = torch.autograd.grad(eval(code, names).sum(), at, create_graph=order > 1)
    if order == 1:
        return grad
    if not grad.requires_grad:
        return torch.zeros(())
    return torch.autograd.grad((grad * 0.75).sum(), at)[0]


if __name__ == "__main__":
    record(EXPECTED, cases(), observe)

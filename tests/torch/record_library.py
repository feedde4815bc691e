"""Records with real PyTorch what operators of one's own do, into library.json: `python tests/torch/record_library.py`.

Each case is an expression on the operators that `SETUP` defines.
"""

import json
import warnings
from pathlib import Path

EXPECTED = Path(__file__).with_name("library.json")

SETUP = """
import numpy as np
from typing import List, Optional, Sequence, Tuple, Union

library = torch.library

@library.custom_op("own::sine", mutates_args=())
def sine(x: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(np.sin(x.detach().numpy()))

sine.register_fake(lambda x: torch.empty_like(x))
sine.register_autograd(
    lambda ctx, grad: grad * ctx.saved_tensors[0].cos(),
    setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]),
)

@library.custom_op("own::plain", mutates_args=())
def plain(x: torch.Tensor) -> torch.Tensor:
    return x.clone() * 2

seen = []

@library.custom_op("own::ruled", mutates_args=())
def ruled(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x * y

@library.register_vmap("own::ruled")
def _(info, in_dims, x, y):
    seen.append((info.batch_size, info.randomness, in_dims, tuple(x.shape), tuple(y.shape)))
    front = [t if d is None else t.movedim(d, 0) for t, d in zip((x, y), in_dims)]
    return front[0] * front[1], 0

@library.custom_op("own::pair", mutates_args=())
def pair(x: torch.Tensor, y: torch.Tensor, n: int = 2, *, scale: Optional[float] = None) -> Tuple[torch.Tensor, torch.Tensor]:
    return x * n, y * (scale or 1)

def pair_setup(ctx, inputs, keyword_only_inputs, output):
    ctx.n, ctx.scale = inputs[2], keyword_only_inputs["scale"]

pair.register_autograd(lambda ctx, a, b: (a * ctx.n, b * (ctx.scale or 1), None), setup_context=pair_setup)

@library.custom_op("own::total", mutates_args=())
def total(xs: List[torch.Tensor], w: torch.Tensor) -> torch.Tensor:
    return sum(xs) * w

total.register_autograd(lambda ctx, g: ([g * 1, g * 2], g))

@library.custom_op("own::scale_", mutates_args={"x"})
def scale_(x: torch.Tensor, k: float) -> None:
    x.mul_(k)

@library.custom_op("own::same", mutates_args=())
def same(x: torch.Tensor) -> torch.Tensor:
    return x

@library.custom_op("own::front", mutates_args=())
def front(x: torch.Tensor) -> torch.Tensor:
    return x[:1]

@library.custom_op("own::wrong", mutates_args=())
def wrong(x: torch.Tensor) -> torch.Tensor:
    return x.clone()

wrong.register_autograd(lambda ctx, g: (g, g))

def bare(x): return x
def no_return(x: torch.Tensor): return x
def many(a: torch.Tensor, b: Optional[torch.Tensor], c: List[torch.Tensor], d: Sequence[int], e: str = "x", f: bool = True, *,
         g: Optional[int] = None, h: torch.dtype = torch.float32, i: Union[int, float, bool] = 1) -> List[torch.Tensor]: ...
def starred(*x: torch.Tensor) -> torch.Tensor: return x
def changing(x: torch.Tensor, k: float) -> None: ...

v = torch.tensor([1.0, 2.0])
x = v.clone().requires_grad_()
w = torch.tensor([3.0, 4.0], requires_grad=True)
m = torch.arange(6.0).reshape(3, 2)

def nodes(t):
    return t.grad_fn.name(), [None if f is None else f.name() for f, _ in t.grad_fn.next_functions]

def second():
    (g,) = torch.autograd.grad(sine(x).sum(), x, create_graph=True)
    return g.grad_fn.name(), torch.autograd.grad(g.sum(), x)

def versions():
    t = torch.ones(2)
    scale_(t, 3.0)
    return t.tolist(), t._version > 0
"""

CASES = """
repr(sine); sine(v); sine(x); nodes(sine(x)); torch.autograd.grad(sine(x).sum(), x); second(); sine(torch.ones(2, device="meta"))
torch.ops.own.sine(v); torch.ops.own.sine.default(v); plain(x).requires_grad; plain(x).sum().backward(); nodes(plain(x))
plain(torch.ones(2, device="meta")).shape; torch.vmap(ruled)(m, m); seen[-1]; torch.vmap(ruled, in_dims=(0, None))(m, v); seen[-1]
torch.vmap(ruled, in_dims=(1, 0), out_dims=1)(m, v); torch.vmap(torch.vmap(ruled))(m, m).shape; torch.vmap(plain)(m)
torch.vmap(lambda t: plain(t).sum(), in_dims=1)(m); torch.func.grad(lambda t: sine(t).sum())(v); pair(v, v); pair(v, v, 3, scale=2.0)
torch.autograd.grad(sum(t.sum() for t in pair(x, w, 3, scale=5.0)), (x, w)); nodes(pair(x, w)[1]); pair(v); pair(v, v, 1, 2, 3); pair(v, v, foo=1)
total([v, v], v); torch.autograd.grad(total([x, w], v).sum(), (x, w)); nodes(total([x, w], v)); versions(); scale_.register_autograd(lambda ctx, g: g)
same(v); front(v); wrong(x).sum().backward(); library.infer_schema(many, mutates_args=()); library.infer_schema(many, mutates_args="unknown")
library.infer_schema(changing, mutates_args={"x"}); library.infer_schema(changing, mutates_args={"k"}); library.infer_schema(changing, mutates_args="x")
library.infer_schema(changing, mutates_args={"z"}); library.infer_schema(bare, mutates_args=()); library.infer_schema(no_return, mutates_args=())
library.infer_schema(starred, mutates_args=()); library.custom_op("own::bare", bare, mutates_args=()); library.register_fake("own::nothing", bare)
library.custom_op("own::gpu", sine._init_fn if hasattr(sine, "_init_fn") else sine._kernel, mutates_args=(), device_types="cuda")(v)
""".replace("\n", ";").split(";")
CASES = [case.strip() for case in CASES if case.strip()]


def outcome(scope, case):
    """Return what the expression gives, or the class and the first words of its error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return str(eval(case, scope))
    except Exception as error:
        return f"{type(error).__name__}: {' '.join(str(error).split()[:3])}"


def outcomes(torch):
    """Return what all cases give, one after the other."""
    scope = {"torch": torch}
    exec(SETUP, scope)
    return [outcome(scope, case) for case in CASES]


if __name__ == "__main__":
    import torch

    found = [[case, text] for case, text in zip(CASES, outcomes(torch), strict=True)]
    EXPECTED.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    print(len(found), "cases")

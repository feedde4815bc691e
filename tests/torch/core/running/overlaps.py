"""Writes into memory of which one element stands for several, or that an argument shares: which of them real PyTorch refuses,
and what others leave there.

`python -m tests.torch.core.running.overlaps` records them into overlaps.json.
"""

import json
import warnings
from pathlib import Path
from typing import Any

EXPECTED = Path(__file__).with_suffix(".json")

TARGETS = """
torch.zeros(1).expand(3)
torch.zeros(1).expand(3)[:2]
torch.zeros(1).expand(3)[:1]
torch.zeros(3).expand(2, 3)
torch.zeros(3).expand(1, 3)
torch.zeros(2, 1).expand(2, 3)
torch.zeros(4).as_strided((2, 3), (1, 1))
torch.zeros(4).as_strided((2, 2), (1, 2))
torch.zeros(6).unfold(0, 3, 1)
torch.zeros(())
torch.zeros(0, 3)
torch.zeros(2, 3).t()
""".strip().split("\n")

IN_PLACE = """
t.add_(1)
t.mul_(2)
t.sub_(torch.ones(()))
t.div_(2)
t.pow_(2)
t.exp_()
t.sigmoid_()
t.relu_()
t.abs_()
t.neg_()
t.floor_()
t.clamp_(0, 1)
t.clamp_min_(0)
t.round_()
t.zero_()
t.fill_(3)
t.fill_(torch.ones(()))
t.copy_(torch.ones(()))
t.copy_(t)
t.copy_(torch.ones(t.shape))
t.copy_(t.clone())
t.copy_(torch.ones(t.shape, dtype=torch.int64))
t.normal_()
t.uniform_()
t.bernoulli_(0.5)
t.exponential_()
t.random_(5)
t.geometric_(0.5)
t.log_normal_()
t.cauchy_()
t.masked_fill_(t > 0, 1)
t.masked_fill_(t > 0, torch.ones(()))
t.masked_scatter_(t > 0, torch.ones(t.shape))
t.index_fill_(0, torch.tensor([0]), 1)
t.index_add_(0, torch.tensor([0]), t[:1].clone())
t.index_copy_(0, torch.tensor([0]), t[:1].clone())
t.index_put_((torch.tensor([0]),), torch.ones(()))
t.scatter_(0, torch.zeros(t.shape, dtype=torch.long), 1)
t.scatter_(0, torch.zeros(t.shape, dtype=torch.long), t.clone())
t.scatter_add_(0, torch.zeros(t.shape, dtype=torch.long), t.clone())
t.put_(torch.tensor([0]), torch.ones(1))
t.addcmul_(torch.ones(()), torch.ones(()))
t.addcdiv_(torch.ones(()), torch.ones(()))
t.lerp_(torch.ones(t.shape), 0.5)
t.cumsum_(0)
t.cumprod_(0)
t.tril_()
t.triu_()
torch.nn.init.eye_(t)
t.fill_diagonal_(1)
t.renorm_(2, 0, 1)
t.logical_not_()
t.eq_(1)
t.gt_(torch.ones(()))
t.atan2_(torch.ones(()))
t.fmod_(2)
t.remainder_(2)
t.floor_divide_(2)
t.nan_to_num_()
t.sign_()
t.erfinv_()
t.square_()
t.hardtanh_() if hasattr(t, "hardtanh_") else torch.nn.functional.hardtanh_(t)
torch.nn.functional.leaky_relu_(t)
torch.nn.functional.elu_(t)
torch.nn.functional.threshold_(t, 0, 0)
torch.nn.functional.dropout(t, 0.5, inplace=True)
torch.nn.functional.hardswish(t, inplace=True)
torch.nn.functional.silu(t, inplace=True)
torch.nn.init.ones_(t)
torch.nn.init.uniform_(t)
t.__setitem__(0, 5)
t.__setitem__(slice(None), 5.0)
t.__setitem__(slice(None), torch.ones(()))
t.__setitem__(Ellipsis, torch.ones(t.shape))
t.__setitem__(slice(0, 1), t[:1])
t.__setitem__(t > 0, 1)
t.__setitem__(torch.tensor([0]), 1)
t.__setitem__(torch.tensor([0]), t[:1].clone())
t.__iadd__(1)
t.resize_(t.shape)
t.t_()
t.squeeze_()
t.detach().add_(1)
torch.sin(torch.ones(t.shape), out=t)
torch.add(torch.ones(t.shape), 1, out=t)
torch.zeros(t.shape, out=t)
torch.cumsum(torch.ones(t.shape), 0, out=t)
torch.clamp(torch.ones(t.shape), 0, 1, out=t)
torch.sum(torch.ones((2, *t.shape)), 0, out=t)
torch.cat([torch.ones(t.shape)], out=t)
torch.stack([torch.ones(t.shape)], out=t)
torch.index_select(torch.ones(t.shape), 0, torch.arange(t.size(0)), out=t)
torch.gather(torch.ones(t.shape), 0, torch.zeros(t.shape, dtype=torch.long), out=t)
torch.where(torch.ones(t.shape) > 0, torch.ones(t.shape), 0.0, out=t)
torch.full(t.shape, 2.0, out=t)
torch.arange(3.0, out=t)
torch.normal(torch.zeros(t.shape), 1.0, out=t)
torch.max(torch.ones((2, *t.shape)), 0, out=(t, torch.empty(t.shape, dtype=torch.long)))
torch.sort(torch.ones(t.shape), 0, out=(t, torch.empty(t.shape, dtype=torch.long)))
torch.tril(torch.ones(t.shape), out=t)
torch.nonzero(torch.ones(t.shape), out=torch.zeros(1, dtype=torch.long).expand(t.numel(), t.dim()))
""".strip().split("\n")

PAIRS = """
m = torch.ones(6); t = m; a = m
m = torch.ones(6); t = m[1:]; a = m[:-1]
m = torch.ones(6); t = m[:-1]; a = m[1:]
m = torch.ones(6); t = m[:3]; a = m[3:]
m = torch.ones(6); t = m[::2]; a = m[1::2]
m = torch.ones(6); t = m[::2]; a = m[:3]
m = torch.ones(6); t = m.view(2, 3); a = m.view(2, 3)
m = torch.ones(3, 3); t = m; a = m.t()
m = torch.ones(3, 3); t = m.t(); a = m
m = torch.ones(3, 3); t = m; a = m[:1]
m = torch.ones(3, 3); t = m; a = m[0]
m = torch.ones(3, 3); t = m; a = m[:1].expand(3, 3)
m = torch.ones(3, 3); t = m[1:]; a = m[:-1]
m = torch.ones(3, 3); t = m[:, 1:]; a = m[:, :-1]
m = torch.ones(3, 3); t = m[0]; a = m[:, 0]
m = torch.ones(3); t = m; a = m.view(1, 3)
m = torch.ones(1); t = m; a = m.view(())
m = torch.ones(()); t = m; a = m.view(1)
m = torch.ones(6); t = m[:5]; a = m[:5].clone()
""".strip().split("\n")
"""A target `t` and an argument `a`."""

BOTH = """
t.add_(a)
t.mul_(a)
t.sub_(a)
t.div_(a)
t.pow_(a)
t.copy_(a)
t.lerp_(a, 0.5)
t.addcmul_(a, a)
t.addcdiv_(a, a)
t.atan2_(a)
t.fmod_(a)
t.gt_(a)
t.logical_and_(a)
t.clamp_(a, a)
t.clamp_min_(a)
t.masked_fill_(a > 0, 1)
t.masked_scatter_(a > 0, a)
t.masked_scatter_(t > 0, t)
t.index_copy_(0, torch.tensor([0]), a[:1])
t.index_add_(0, torch.tensor([0]), a[:1])
t.index_put_((torch.tensor([0]),), a[:1])
t.scatter_(0, torch.zeros(t.shape, dtype=torch.long), a)
t.scatter_add_(0, torch.zeros(t.shape, dtype=torch.long), a)
t.__setitem__(slice(None), a)
t.__setitem__(torch.tensor([0]), a[:1])
t.__iadd__(a)
torch.sin(a, out=t)
torch.neg(a, out=t)
torch.add(a, 1, out=t)
torch.mul(a, a, out=t)
torch.add(t, a, out=t)
torch.maximum(a, a, out=t)
torch.atan2(a, a, out=t)
torch.clamp(a, 0, 1, out=t)
torch.where(a > 0, a, 0.0, out=t)
torch.lerp(a, a, 0.5, out=t)
torch.addcmul(a, a, a, out=t)
torch.cumsum(a, 0, out=t)
torch.cumprod(a, 0, out=t)
torch.cat([a], out=t)
torch.stack([a], out=t)
torch.sum(a, 0, out=t)
torch.mean(a, 0, out=t)
torch.amax(a, 0, out=t)
torch.prod(a, 0, out=t)
torch.norm(a, out=t)
torch.mm(a, a, out=t)
torch.addmm(a, a, a, out=t)
torch.mv(a, a[0], out=t)
torch.matmul(a, a, out=t)
torch.tril(a, out=t)
torch.index_select(a, 0, torch.tensor([0]), out=t)
torch.gather(a, 0, torch.zeros(a.shape, dtype=torch.long), out=t)
torch.take(a, torch.tensor([0]), out=t)
torch.sort(a, 0, out=(t, torch.empty(0, dtype=torch.long)))
torch.topk(a, 1, 0, out=(t, torch.empty(0, dtype=torch.long)))
torch.max(a, 0, out=(t, torch.empty(0, dtype=torch.long)))
torch.softmax(a, 0, out=t)
torch.nn.functional.relu(a)
torch.sigmoid(a, out=t)
torch.exp(a, out=t)
torch.round(a, out=t)
torch.nan_to_num(a, out=t)
torch.logit(a, out=t)
torch.polygamma(1, a, out=t)
torch.masked_select(a, a > 0, out=t)
torch.diag(a, out=t)
torch.cross(a, a, out=t)
torch.roll(a, 1)
torch.eq(a, a, out=t)
torch.frac(a, out=t)
torch.float_power(a, 2, out=t)
torch.linalg.inv(a, out=t)
torch.dot(a, a, out=t)
torch.outer(a, a, out=t)
""".strip().split("\n")


def play(torch: Any, setup: str, code: str) -> str:
    """`ok`, or what kind of error there is: about memory, or another."""
    names = {"torch": torch}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.manual_seed(0)
        try:
            exec(setup, names)
            exec(code, names)
        except Exception as error:
            text = str(error)
            if "more than one element of the written-to" in text:
                return "itself"
            return "overlap" if "refer to a single memory location" in text else "other"
    return "ok"


REPEATED = """
b = torch.zeros(1); t = b.expand(3)
b = torch.zeros(2, 1); t = b.expand(2, 3)
b = torch.zeros(3); t = b.expand(2, 3)
b = torch.zeros(2, 1, 2); t = b.expand(2, 3, 2).transpose(1, 2)
b = torch.zeros(4); t = b.as_strided((2, 3), (1, 1))
b = torch.zeros(6); t = b.unfold(0, 3, 1)
b = torch.zeros(6); t = b.unfold(0, 3, 2)
b = torch.zeros(6); t = b.view(2, 3).t()
b = torch.zeros(6); t = b[::2]
b = torch.zeros(1, dtype=torch.float64, requires_grad=True) * 1; t = b.expand(2, 3)
b = torch.zeros(2, 3, dtype=torch.float64, requires_grad=True) * 1; t = b[:, :1].expand(2, 3)
""".strip().split("\n")
"""A tensor `b`, and a view `t` of it in which one position may stand for several elements."""

WRITES = """
t.index_put_((torch.tensor([0, 1]),), torch.ones((), dtype=t.dtype), accumulate=True)
t.index_put_((torch.tensor([0, 1]),), torch.full((), 0.1, dtype=t.dtype), accumulate=True)
t.index_put_((torch.tensor([0, 0, 1]),), torch.ones((3, *t.shape[1:]), dtype=t.dtype), accumulate=True)
t.index_put_((torch.tensor([0]), torch.tensor([0, 1])), torch.tensor([1, 2], dtype=t.dtype), accumulate=True)
t.index_put_((t == 0,), torch.ones((), dtype=t.dtype), accumulate=True)
t.index_put_((torch.tensor([-1]),), torch.ones((), dtype=t.dtype))
t[torch.tensor([0, 1])] = 2.5
t[t == 0] = 3
t.mul_(2)
t.add_(1).sub_(0.5)
t.detach().add_(torch.arange(t.numel(), dtype=t.dtype).reshape(t.shape))
t.detach().addcmul_(torch.arange(t.shape[-1], dtype=t.dtype), torch.full((), 3, dtype=t.dtype))
t.detach().sub_(3).abs_()
t.detach().apply_(lambda x: x + 1)
t.detach().map_(torch.ones(t.shape, dtype=t.dtype), lambda x, y: 2 * x + y)
torch.optim.SGD([leaf(t)], lr=0.1).step()
torch.optim.SGD([leaf(t)], lr=0.1, momentum=0.9).step()
torch.optim.Adam([leaf(t)], lr=0.1, foreach=False).step()
torch.optim.Adagrad([leaf(t)], lr=0.1, foreach=False).step()
torch.optim.RMSprop([leaf(t)], lr=0.1, foreach=False).step()
""".strip().split("\n")


def left(torch: Any, setup: str, code: str) -> str:
    """Return what is in `b` after a write, and its gradient; the kind of error where there is one."""

    def leaf(t: Any) -> Any:
        t = t.detach().requires_grad_()
        t.grad = torch.ones(t.shape, dtype=t.dtype)
        return t

    names: dict[str, Any] = {"torch": torch, "leaf": leaf}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(setup, names)
            b = names["b"]
            root = b.grad_fn and b.grad_fn.next_functions[0][0].variable
            exec(code, names)
            told = str(b.tolist())
            if root is not None:
                (b * b).sum().backward()
                told += f" {root.grad.tolist()}"
        except Exception as error:
            return type(error).__name__
    return told


CASES = [(f"t = {target}", IN_PLACE) for target in TARGETS] + [(pair, BOTH) for pair in PAIRS]

if __name__ == "__main__":
    import torch

    found: dict[str, Any] = {setup: " ".join(play(torch, setup, code) for code in codes) for setup, codes in CASES}
    found["left"] = {setup: [left(torch, setup, code) for code in WRITES] for setup in REPEATED}
    EXPECTED.write_text(json.dumps(found, indent=0) + "\n")

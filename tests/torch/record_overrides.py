"""Who is asked instead of functions, and for which: `python -m tests.torch.record_overrides` records what PyTorch does."""

import copy
import importlib
import json
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np

EXPECTED = Path(__file__).with_name("overrides.json")

CALLS = """
x+1 | 1+x | x-1 | 1-x | x*p | p*x | p+x | x/2 | 2/x | x//2 | 2//x | x%2 | 2%x | x**2 | 2**x | x@p.T | -x | +x | abs(x) | x==1
x!=1 | x<1 | x>=p | p<x | x[0] | x[0,1] | x.__setitem__(0,1.) | x.shape | x.dtype | x.T | x.mT | x.grad | x.requires_grad
x.data | x.ndim | x.device | x.is_leaf | x.grad_fn | x.sum() | torch.sum(x) | torch.add(x,1) | torch.add(p,x) | x.add_(1)
x.size() | x.dim() | len(x) | list(x) | bool(x.sum()>0) | float(x.sum()) | int(x.sum()) | x.sum().item() | x.tolist() | repr(x)
str(x) | f'{x.sum()}' | x.numpy() | torch.stack([x,p]) | torch.stack([p,x]) | torch.cat((p,p,x)) | torch.nn.functional.relu(x)
torch.relu(x) | torch.nn.functional.linear(p,x) | torch.nn.functional.softmax(x,-1) | x.softmax(-1)
torch.nn.functional.mse_loss(x,p) | torch.nn.functional.cross_entropy(x,torch.tensor([0,1])) | torch.nn.functional.dropout(x)
torch.where(x>0,x,p) | torch.max(x,0) | x.max(0) | torch.split(x,1) | x.split(1) | torch.einsum('ij->i',x) | x.view(-1)
x.reshape(3,2) | x.to(torch.float64) | x.float() | x.clone() | x.detach() | x.requires_grad_() | (x*1).sum().backward()
x.new_zeros(2) | torch.zeros_like(x) | x.is_floating_point() | torch.is_tensor(x) | torch.is_floating_point(x) | x.numel()
x.stride() | x.contiguous() | x.is_contiguous() | x.type() | x.cpu() | x.data_ptr() | x.storage_offset() | x.norm()
torch.linalg.norm(x) | torch.fft.fft(x) | x.unique() | torch.unique(x) | torch.nn.init.zeros_(x)
torch.nn.functional.conv1d(p[None],x[None]) | x.register_hook(lambda g:g) | x.requires_grad_(False) | hash(x) | id(x) and 0
x in [x] | 1.0 in x | x.is_cuda | x.__reduce_ex__(2) | torch.as_tensor(x) | torch.tensor(x) | x.unbind() | x._version
x.apply_(lambda v:v) | torch.equal(x,p) | torch.allclose(x,p) | x.is_sparse | x.real | x.H | x.__iadd__(1) | x.__radd__(1)
x.__rsub__(1) | x.masked_fill(x>1,0) | x.copy_(p) | p.copy_(x) | torch.manual_seed(0) and 0 | torch.broadcast_tensors(x,p)
torch.meshgrid(x[0],x[1]) | x.expand_as(p) | p.expand_as(x) | torch.nn.functional.gelu(x)
torch.nn.functional.embedding(torch.tensor([0]),x) | torch.nn.functional.batch_norm(x,None,None,training=True)
torch.nn.functional.pad(x,(1,1)) | torch.nn.functional.interpolate(x[None],scale_factor=2.)
torch.nn.functional.max_pool1d(x[None],2) | torch.nn.functional.one_hot(x.long())
torch.nn.functional.scaled_dot_product_attention(x,x,x) | torch.nn.functional.log_softmax(x,1)
torch.nn.functional.nll_loss(x,torch.tensor([0,1])) | torch.nn.functional.normalize(x)
torch.nn.functional.cosine_similarity(x,p) | torch.add(p,p,out=x) | torch.result_type(x,1) | torch.broadcast_shapes((1,),(2,))
torch.chunk(x,2) | torch.matmul(x,p.T) | torch.sigmoid(x) | x.sigmoid_() | torch.sort(x) | x.topk(1) | x.cumsum(0)
torch.flatten(x) | torch.squeeze(x) | torch.dot(x[0],x[1]) | torch.outer(x[0],x[1]) | torch.bmm(x[None],p.T[None])
torch.isnan(x) | torch.any(x) | torch.numel(x) | torch.clamp(x,0,1) | torch.tril(x) | torch.diag(x) | torch.argmax(x)
torch.std(x) | torch.var_mean(x) | torch.randn_like(x) | torch.bernoulli(x.clamp(0,1)) | torch.multinomial(x.abs()+1,1)
torch.gather(x,0,torch.zeros(1,3,dtype=torch.long)) | torch.index_select(x,0,torch.tensor([0])) | torch.polar(x,p)
x.element_size() | x.itemsize | x.nbytes | x.layout | x.untyped_storage() and 0 | x.is_meta | x.output_nr | x._base | x.t()
x.transpose(0,1) | x.permute(1,0) | x.swapaxes(0,1) | x.movedim(0,1) | x.ravel() | x.fill_(1) | x.zero_() | x.normal_()
x.uniform_() | x.index_put((torch.tensor([0]),),p[0]) | x.round() | x.trunc() | x.long() | x.bool() | x.half() | x.type_as(p)
p.type_as(x) | x.eq(1) | torch.lt(x,1) | x.logical_and(x) | ~(x>1) | (x>1)&(x<3) | x.bool()^True | x.int()<<1 | 1<<x.int()
x.int()>>1 | torch.logsumexp(x,0) | torch.cdist(x,p) | torch.nn.functional.binary_cross_entropy_with_logits(x,p)
torch.nn.functional.softplus(x) | torch.nn.functional.silu(x) | torch.nn.functional.leaky_relu(x) | torch.nn.functional.elu(x)
torch.nn.functional.hardtanh(x) | torch.nn.functional.glu(x[:,:2]) | torch.nn.functional.group_norm(x,1)
torch.nn.functional.unfold(x[None,None],1) | torch.nn.functional.conv2d(x[None,None],p[None,None])
torch.nn.functional.avg_pool1d(x[None],1) | torch.nn.functional.adaptive_avg_pool1d(x[None],1)
torch.nn.utils.clip_grad_norm_([x],1.) | copy.copy(x)
"""
PROGRAMS = Path(__file__).with_name("overriding_programs.txt")


def calls() -> list[str]:
    """Expressions with an instance `x` of a subclass and a plain tensor `p`."""
    return [part.strip() for line in CALLS.strip().splitlines() for part in line.split(" | ")]


def programs() -> list[str]:
    """Short programs that print."""
    return [p.strip() for p in PROGRAMS.read_text().split("# ----") if p.strip()]


def _error(error: Exception) -> str:
    return f"{type(error).__name__}: " + re.split(r"(?<=[.!?])\s", str(error).split("\n")[0])[0]


def called(torch: Any, code: str) -> str:
    """The class of what an expression gives, and which functions the subclass was asked for, with which types and arguments."""
    overrides = importlib.import_module(f"{torch.__name__}.overrides")
    log: list[Any] = []

    class T(torch.Tensor):  # type: ignore[misc,name-defined]
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            log.append((overrides.resolve_name(func), [t.__name__ for t in types], len(args), sorted(kwargs or {})))
            return super().__torch_function__(func, types, args, kwargs or {})

    names = {"torch": torch, "np": np, "copy": copy, "p": torch.ones(2, 3)}
    names["x"] = torch.arange(6.0).view(2, 3).as_subclass(T)
    log.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = type(eval(code, names)).__name__
        except Exception as error:
            found = _error(error)
    return f"{found} {log}"


def printed(torch: Any, program: str) -> list[str]:
    """Return what a program prints."""
    lines: list[str] = []
    name = torch.__name__
    scope = {"__name__": "__main__", "show": lambda *a: lines.append(" ".join(map(str, a)))}
    text = re.sub(r"\bfrom torch\b", f"from {name}", program).replace("import torch\n", "")
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(text, {**scope, "torch": torch, "np": np, "copy": copy})
        except Exception as error:
            lines.append(_error(error))
    return [re.sub(r" at 0x\w+", "", line).replace(name, "torch") for line in lines]


if __name__ == "__main__":
    import torch

    known = {"calls": {c: called(torch, c) for c in calls()}, "programs": {p: printed(torch, p) for p in programs()}}
    EXPECTED.write_text(json.dumps(known, indent=0) + "\n")

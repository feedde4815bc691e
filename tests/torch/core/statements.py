"""Random sequences of statements: views, in-place changes, hooks, backward passes. The same seed gives the same sequence everywhere."""

import random
import re
import zlib
from typing import NamedTuple

KINDS = {
    "new": (
        12,
        "A.sin()|A.exp()|A*2|A**2|A.clone()|A.sum()|A.sum(0)|A.tanh()|A.relu()|-A|A.mean()|A+1|A.sigmoid()|A.sum(-1,keepdim=True)|A.prod()|"
        "A.cumsum(0)|A.abs()|A.max()|torch.sort(A)|A.contiguous()|A.repeat(2)|A.flip(0)|torch.zeros_like(A)|A.t()*2",
    ),
    "two": (
        12,
        "A*B|A+B|A-B|torch.cat([A,B])|torch.stack([A,B])|torch.where(A>0,A,B)|A/(B**2+1)|torch.minimum(A,B)|A@B|torch.dot(A,B)|"
        "torch.addcmul(A,A,B)|torch.cat([A,A])|A.index_add(0,torch.tensor([0]),B)|A[torch.tensor([0,0])]|A[A>0]|"
        "A.gather(0,torch.zeros_like(A,dtype=torch.long))|torch.index_put(A,(torch.tensor([0]),),B)",
    ),
    "view": (
        22,
        "A.view(-1)|A.t()|A[0]|A[:,1]|A[:,:2]|A[1:]|A.unsqueeze(0)|A.unsqueeze(-1)|A.squeeze()|A.expand(2,*A.shape)|A.transpose(0,-1)|"
        "A.reshape(-1)|A.narrow(0,0,1)|A.detach()|A.diagonal()|A.flatten()|A.select(0,0)|A.view_as(A)|A[...]|A[None]|A.data|A.expand_as(A)|"
        "A.as_strided((2,),(1,))|A.as_strided((2,),(1,),1)|A.as_strided((2,2),(2,1))|A.permute(*range(A.dim())[::-1])|A.movedim(0,-1)|A.T|A.mT|"
        "A.swapaxes(0,-1)|A.unfold(0,1,1)|A[::2]|A[-1]|A[0,...]|A.conj()*2|"
        "A.squeeze(0)|A.ravel()|A._base|A.alias()",
    ),
    "views": (
        8,
        "A.chunk(2)|A.unbind()|A.split(1)|A.chunk(2,-1)|A.unbind(-1)|A.split([1,1])|torch.tensor_split(A,2)|A.chunk(1)|A.hsplit(1)|"
        "torch.broadcast_tensors(A,B)|torch.atleast_2d(A,B)",
    ),
    "change": (
        26,
        "A.mul_(2)|A.add_(1)|A.zero_()|A.fill_(3)|A.sin_()|A.exp_()|A.pow_(2)|A.neg_()|A.clamp_(-1,1)|A.sigmoid_()|A.tanh_()|A.relu_()|A.sqrt_()|"
        "A.masked_fill_(A>0,0.5)|A.abs_()|A.add_(B)|A.mul_(B)|A.copy_(B)|A.sub_(B)|A.div_(B)|A.addcmul_(B,B)|A.lerp_(B,0.5)|setitem(A,0,B)|"
        "setitem(A,slice(None,1),2.)|setitem(A,Ellipsis,B)|setitem(A,A>0,1.)|A.copy_(torch.zeros(()))|setitem(A,torch.tensor([0]),B)|iadd(A,B)|"
        "imul(A,A)|iadd(A,1)|A.index_put_((torch.tensor([0]),),B)|A.index_put_((torch.tensor([0,0]),),B,accumulate=True)|"
        "A.index_put_((A>0,),B)|A.masked_fill_(A<0,B)|A.fill_(B)|A.index_add_(0,torch.tensor([0]),B)|A.index_fill_(0,torch.tensor([0]),1.5)|"
        "A.masked_scatter_(A>0,A.detach()*2)|A.scatter_(0,torch.zeros_like(A,dtype=torch.long),1.5)|A.fill_diagonal_(2.)|A.cumsum_(0)|A.addmul_(B)|"
        "A.addcdiv_(B,B**2+1)|A.mul_(B.sum())|A.sub_(A)|A.copy_(A.t())|A.clamp_min_(0.1)|A.erf_()|A.floor_()|A.where_(B)|A.data.mul_(2)|"
        "A.detach().add_(1)|A.view(-1).mul_(2)|setitem(A,(slice(None),0),B)|setitem(A,None,B)|A.index_copy_(0,torch.tensor([0]),B)|A.logical_not_()",
    ),
    "turn": (
        4,
        "A.t_()|A.transpose_(0,-1)|A.unsqueeze_(0)|A.squeeze_()|A.squeeze_(0)|A.swapaxes_(0,-1)|A.as_strided_((2,),(1,))|A.resize_(min(A.numel(),2))|A.resize_as_(A.t())|A.movedim(0,-1).t_()",
    ),
    "out": (
        3,
        "torch.sin(A,out=into(A,B))|torch.add(A,A,out=into(A,B))|torch.mul(A,2,out=into(A,A))|torch.cat([A,A],out=into(torch.cat([A,A]),B))|torch.sum(A,0,out=into(A[0],B))|"
        "torch.mul(A,A,out=into(A,A))",
    ),
    "flag": (
        6,
        "A.detach_()|A.requires_grad_()|A.requires_grad_(False)|setdata(A,B)|look(A,B)|setdata(A,A*2)|A.detach().requires_grad_()|"
        "bump(A)|deepcopy(A)|setflag(A,True)|look(A,None)",
    ),
    "grads": (
        4,
        "forget(A)|setgrad(A,B)|A.grad.zero_()|A.grad.add_(1)|A.grad|A.grad.detach_()|setgrad(A,torch.ones_like(A))|setgrad(A,A)",
    ),
    "hook": (
        7,
        "hook(A)|A.retain_grad()|prehook(A)|posthook(A)|leafhook(A)|unhook(0)|unhook(-1)|swaphook(A)|scaleprehook(A)|scaleposthook(A)|"
        "badhook(A)|packhook(A)|multihook(A,B)|anyhook(A,B)|nonehook(A)",
    ),
    "function": (
        8,
        "Double.apply(A)|Dirty.apply(A)|Window.apply(A)|Same.apply(A)|Two.apply(A,B)|Kept.apply(A)|Swapped.apply(A,B)|Once.apply(A)|"
        "Sparing.apply(A,B)|Blind.apply(A)|Both.apply(A,B)|Views.apply(A)",
    ),
    "saved": (3, "saved(A)|edges(A)|node(A)"),
    "back": (
        15,
        "A.sum().backward()|A.sum().backward(retain_graph=True)|A.sum().backward(create_graph=True)|grad(A,B)|grad(A,B,retain_graph=True)|"
        "grad(A,B,create_graph=True)|A.sum().backward(inputs=[B])|A.backward(torch.ones_like(A))|A.backward()|A.backward(B)|"
        "torch.autograd.backward([A.sum(),B.sum()])|torch.autograd.backward([A,B],[torch.ones_like(A),torch.ones_like(B)])|"
        "grad(A,[A,B],retain_graph=True)|A.sum().backward(inputs=[A,B],retain_graph=True)|grad([A.sum(),B.sum()],[B,A])|strict(A,B)|filled(A,B)|"
        "edge(A,B)|grad(A,B,create_graph=True,retain_graph=False)",
    ),
}
"""Statements by kind, and how often a kind is drawn; A and B are tensors made so far."""

STARTS = (
    (
        60,
        "torch.tensor([[0.5137,-1.2331,0.3719],[1.1213,0.7359,-0.4177]],dtype=torch.float64,requires_grad=True)|"
        "torch.tensor([0.9241,-0.6173,1.4389],dtype=torch.float64,requires_grad=True)|"
        "torch.tensor([[0.2113,0.8237,-1.0391],[0.4519,-0.3533,0.6271]],dtype=torch.float64)|A*1.5",
    ),
    (
        15,
        "torch.tensor([[0.7183,-0.3761],[1.2917,0.4463]],dtype=torch.float64,requires_grad=True)|"
        "torch.tensor(0.8329,dtype=torch.float64,requires_grad=True)|torch.tensor([1.3717,-0.5279],dtype=torch.float64)|A*A",
    ),
    (
        10,
        "torch.tensor([[0.3171],[0.9437]],dtype=torch.float64,requires_grad=True)|torch.tensor([[[0.6353,-0.2719]]],dtype=torch.float64,requires_grad=True)|"
        "torch.zeros(0,2,dtype=torch.float64)|A.exp()",
    ),
    (
        10,
        "torch.tensor([[0.4157+0.2351j,-0.7213j],[1.1093+0j,0.3671-0.9119j]],requires_grad=True,dtype=torch.complex128)|"
        "torch.tensor([0.6431,-1.1579],dtype=torch.float64,requires_grad=True)|torch.tensor([[0.2239+1.0471j],[0.5923-0.1357j]],dtype=torch.complex128)|A*1.5",
    ),
    (
        5,
        "torch.tensor([0.8713,-0.4319,0.2971,1.2053],dtype=torch.float64,requires_grad=True).clone()|"
        "torch.tensor([0.5437,0.9161],dtype=torch.float64)|torch.tensor([[1.0327,0.6679],[-0.3893,0.7541]],dtype=torch.float64).t()|A.view(2,2)",
    ),
)
"""What a sequence begins with, and how often; A is the first tensor."""

MODES = (
    (78, ""), (8, "no_grad"), (3, "packed"), (3, "inference"), (2, "enable_grad"), (2, "anomaly"), (2, "undefined"),
    (2, "kept"),
)  # fmt: skip
"""How often a statement runs inside which block."""


class Step(NamedTuple):
    """One statement: its text, where among the tensors so far those are that it names (from 0 to 1), and the block it
    stands in."""

    code: str
    a: float
    b: float
    mode: str

    def shown(self, known: int) -> str:
        """The statement without its block, where `known` tensors were made before."""
        return NAMES.sub(lambda found: f"v[{position(self.a if found[0] == 'A' else self.b, known)}]", self.code)

    def text(self, known: int) -> str:
        """The statement where `known` tensors were made before."""
        return f"{self.mode}: {self.shown(known)}" if self.mode else self.shown(known)


def position(where: float, known: int) -> int:
    """The number of the tensor: a whole number is one already."""
    return min(where, known - 1) if isinstance(where, int) else int(where * known)


NAMES = re.compile(r"\b[AB]\b")


def table_digest() -> int:
    """Changes with the tables, after which expectations must be recorded anew."""
    return zlib.crc32(repr((KINDS, STARTS, MODES, LENGTH)).encode())


LENGTH = 12
REAL = re.compile(r"relu|minimum|clamp|sort|max\(|[<>]|erf|floor|addcmul|lerp|masked|mean|cumsum|out=(?!into\(A,A)|@")
COMPLEX = re.compile("conj")
"""What is left out where the sequence begins with complex numbers, and where it does not."""
_CODES = [(weight, codes.split("|")) for weight, codes in KINDS.values()]
_TOTAL = sum(weight for weight, _ in _CODES)


def pick(draw: random.Random, rows: tuple[tuple[int, str], ...] | list[tuple[int, list[str]]]) -> str | list[str]:
    point = draw.random() * sum(weight for weight, _ in rows)
    for weight, found in rows:
        point -= weight
        if point < 0:
            return found
    return rows[-1][1]


def sequence(seed: int, length: int = LENGTH) -> tuple[list[str], list[Step]]:
    """Return what the sequence begins with, and its statements."""
    draw = random.Random(seed)
    start = str(pick(draw, STARTS)).split("|")
    left_out = REAL if "j" in start[0] else COMPLEX
    steps = []
    for _ in range(length):
        codes = pick(draw, _CODES)
        codes = [code for code in codes if not left_out.search(code)] or ["A.clone()"]
        mode = str(pick(draw, MODES))
        steps.append(Step(codes[int(draw.random() * len(codes))], draw.random(), draw.random(), mode))
    return start, steps

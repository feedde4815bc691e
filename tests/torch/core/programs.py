"""Random programs of whole statements, over all that a script does with tensors: views, lists as indices, complex numbers, NumPy, subclasses,
modules, checkpoints, overlapping memory.

`python -m tests.torch.core.programs` records what real PyTorch gives into programs.json; with numbers, these programs are played on
both engines, and one that differs is printed as a script, without the statements that it does not need.
"""

import contextlib
import json
import random
import re
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tests.torch.core.player import Player, Row, observe, whole
from tests.torch.core.sequences import NUDGE, PER_LINE, UNSTABLE, difference, short
from tests.torch.core.statements import KINDS, MODES, NAMES, STARTS, Step, pick, position

EXPECTED = Path(__file__).with_suffix(".json")
COUNT = 500
LENGTH = 10

MORE = {
    "index": (
        12,
        "A[[0,1]]|A[[[0,1],[1,0]]]|A[[torch.tensor([0]),torch.tensor([1])]]|A[:,[0,1]]|A[...,[0]]|A[[True,False]]|A[torch.tensor([True,False])]|"
        "A[None,[0]]|A[[0],None]|A[0,[1,0]]|A[[[0]]]|A[[torch.tensor(0)]]|A[(A>0).tolist()]|A[np.array([0,1])]|A[np.array([True,False])]|A[A>B]|"
        "A[torch.tensor([[0],[1]]),torch.tensor([0,1])]|A[::2]|A[-1:]|A[torch.tensor(0)]|A[torch.tensor(True)]|A[True]|A[False]|A[[]]|A[np.int64(0)]|"
        "A[...,None][...,[0]]|A[[0,1],:1]|A[:,None,[0]]|A[[0],:,None]|A[[-1,0]]|A[range(1)]|A[(0,)]|A[()]|A[[slice(0,1)]]|A[[None]]|"
        "A[[0,1]]=B|A[[0]]*=2|A[A>0]+=1|A[:,[1,0]]=2.|A[[[0]]]=B|A[[True,False]]=0.5|A[:,0]-=B.sum()|A[...]=B|A[None]=B|A[0]+=A[1]|"
        "A[np.array([0])]=np.ones(1)|A[A>0]=A[A>0]*2|A[torch.tensor([0,0])]+=1|A[True]=B|A[torch.tensor(1)]=B[0]|A[::2]=B[:1]|A[0,[0,1]]=B|"
        "A.take(torch.tensor([0,1]))|A.index_select(-1,torch.tensor([0]))|A.masked_select(A>0)|A.nonzero()|torch.argwhere(A>0)|"
        "A.put_(torch.tensor([0]),torch.ones(1,dtype=A.dtype))|torch.take_along_dim(A,torch.zeros_like(A,dtype=torch.long),0)|"
        "A.index_put_((torch.tensor([0]),torch.tensor([0])),B.sum())|A.scatter_add_(0,torch.zeros_like(A,dtype=torch.long),A.clone())",
    ),
    "strides": (
        12,
        "A.t()+B|A.T*2|A.t().clone()|A.t().contiguous()|torch.empty_like(A.t()).fill_(1)|A.permute(-1,0)*A.t()|A.mT|A.t().view(-1)|A.t().reshape(-1)|"
        "torch.einsum('ij,kj->ik',A,A)|A.t()@B|A.expand(2,*A.shape)+1|A[::2]*2|A[:,::2]|torch.cat([A.t(),A.t()])|torch.stack([A.t()],-1)|A.diagonal()|"
        "torch.where(A.t()!=0,A.t(),0.)|A.t().sum(0)|A.t().sum(-1,keepdim=True)|A.t().cumsum(0)|A.t()!=0|A.t().to(torch.complex128)|torch.zeros_like(A.t())|"
        "A.repeat(2,1)|A.t().flip(0)|A.t().roll(1,0)|A.rot90()|torch.kron(A,B)|torch.nn.functional.pad(A.t(),(1,0))|torch.nn.functional.linear(A,B)|A.flatten()|"
        "A.tensor_split(2)|A.unbind()|A.chunk(2,-1)|A.split(1)|torch.broadcast_tensors(A,B)|A.expand_as(B)|torch.atleast_2d(A)|A.squeeze(-1)|"
        "A.t().mean(0)|A.t().exp()|A.t().abs()|A.t()/B|A.t().sin().view(-1)|A.t()[:,[0,1]]|A.t()[[0,1]]|A.t()[0]|A.t().tril()|A.t().prod(0)|A.outer(B)|"
        "A.mm(A.t())|A.mv(B)|torch.addmm(B,A,A.t())|A.t().unflatten(0,(1,-1))|A.movedim(0,-1)|A.new_ones(A.t().shape)|A.t().pow(2)|A.t().neg().clone()|"
        "torch.stack([A.t(),B.t()])|A.t().unsqueeze(1)*B|A.as_strided((2,2),(1,1))|A.as_strided((2,),(0,))|A.unfold(0,1,1)|A.contiguous().view(-1)|"
        "A.t().masked_fill(A.t()!=0,1)|A.tile(2)|A.t().index_select(0,torch.tensor([0]))|A.t().gather(0,torch.zeros_like(A.t(),dtype=torch.long))|torch.hstack([A,B])|"
        "torch.block_diag(A,B)|A.diag()|A.trace()|A.cumprod(0)|A.logsumexp(0)|A.norm()|A.var(0)|A.softmax(-1)|A.t().log_softmax(0)|A.std()|A.sum((0,-1))",
    ),
    "overlap": (
        6,
        "A.expand(2,*A.shape).add_(1)|A.as_strided((2,2),(1,1)).mul_(2)|A[:-1].add_(A[1:])|A[1:].copy_(A[:-1])|A.copy_(A.flip(0))|A.t().copy_(A)|"
        "torch.add(A[:-1],1,out=A[1:])|A.unfold(0,2,1).mul_(2)|A.mul_(A.t())|A.view(-1)[::2].add_(1)|A+=A|A.add_(A[0])|A.t()[0].mul_(A[0])|A.diagonal().add_(1)|"
        "A.diagonal().copy_(B)|A.view(-1)[1:].mul_(A.view(-1)[:-1])|torch.mul(A,2,out=A.t())|A.as_strided((2,),(0,))|A.as_strided((2,),(0,))*2|"
        "A.expand(2,*A.shape)[0].mul_(2)|A.t().mul_(2)|A.unsqueeze(0).add_(B)|A.squeeze().sub_(1)|A.t().zero_()|A.flatten().mul_(3)|A.chunk(2)[0].mul_(2)|"
        "A.unbind()[0].add_(1)|A.split(1)[-1].copy_(B)|A.T.add_(A)|A.view(-1).copy_(A.t().reshape(-1))|A.t()[:1].fill_(2)",
    ),
    "complex": (
        8,
        "torch.view_as_real(A)|torch.view_as_complex(A)|A.real|A.imag|A.conj()|A.mH|A.H|A.adjoint()|A.conj().imag|A.conj().mul_(2)|A.mH.zero_()|A.real.mul_(2)|"
        "A.imag.copy_(B)|A.resolve_conj()|A.resolve_neg()|A.conj_physical()|A.abs()|A.angle()|torch.complex(A,A)|torch.polar(A.abs(),B.abs())|A.conj()*A|"
        "(A*A.conj()).real|A.to(torch.complex128)|A.conj().t()|A.conj()[0]|A.conj().imag.mul_(3)|A.conj().conj()|A.conj().clone()|A.vdot(B)|A.conj()+B|"
        "A.conj()@B|A.imag.neg()|A.conj().imag*2|A.real=B|A.imag=B|A.real+A.imag|A.conj()[0]=B|A.conj().exp()|A*1j|A+1j|A.conj().view(-1)|A.conj().sum()|"
        "torch.view_as_real(A)[...,0].mul_(2)|torch.view_as_real(A.conj().resolve_conj())|A.conj().copy_(B)|A.copy_(B.conj())|A.is_conj()|A.is_neg()|"
        "torch.cat([A.conj(),A])|A.conj().detach()|A.imag.clone()|A.conj().imag.view(-1)|A.conj().real|A.dot(B.conj())|A.mH@A|A.conj().reshape(-1)|A.sgn()|A.conj_physical_()",
    ),
    "numpy": (
        8,
        "A.detach().numpy().__imul__(2)|A.detach()+np.ones(A.shape)|A*np.float64(2)|np.float64(2)*A|A==np.ones(A.shape)|np.ones(A.shape)<A.detach()|np.sin(A.detach())|"
        "np.asarray(A.detach())|torch.as_tensor(np.asarray(A.detach()))|torch.tensor(A.detach().numpy())|A[0]=np.float64(3)|A.sum(np.int64(0))|A**np.float64(2)|"
        "A.view(np.int64(-1))|A.add_(np.float64(1))|torch.from_numpy(np.asfortranarray(A.detach().numpy()))|np.add(A.detach(),1)|A.numpy()|A.tolist()|A.sum().item()|"
        "torch.from_numpy(A.detach().numpy()[::2])|torch.from_numpy(A.detach().numpy().T.copy())|np.ones(A.shape)*A.detach()|A.detach()@np.ones(A.shape[-1:])|"
        "torch.as_tensor(A.detach().numpy())[0].mul_(2)|A.detach().numpy()[...]=1|A+np.ones(3)|np.ones(3)+A|np.float64(1)-A|A/np.array(2.)|np.sum(A.detach())|"
        "np.stack([A.detach(),A.detach()])|A.detach().numpy().sum(0)|torch.tensor(np.float64(2))*A|A.new_tensor(np.ones(2))|A.detach().numpy(force=True)|"
        "A.conj().numpy(force=True)|A.detach().conj().numpy()|A.expand(2,*A.shape).detach().numpy()|A.t().detach().numpy()|A.reshape(np.array([-1]).tolist())|"
        "A[np.array([[0],[1]]),0]|A.copy_(torch.from_numpy(np.arange(A.numel(),dtype=float)).view(A.shape))|len(A)|A.shape==B.shape|bool(A.sum()>0)|float(A.detach().sum())",
    ),
    "subclass": (
        6,
        "A.as_subclass(Plain)|A.as_subclass(Passing)|torch.Tensor._make_subclass(Plain,A.detach())|torch.Tensor._make_subclass(Plain,A,True)|torch.nn.Parameter(A)|"
        "torch.nn.Parameter(A.detach())|torch.nn.Parameter(A.detach(),requires_grad=False)|torch.nn.Buffer(A)|A.as_subclass(torch.Tensor)|torch.nn.Parameter(A)*2|"
        "A.as_subclass(Plain)*B|A.as_subclass(Plain)[0]|A.as_subclass(Plain).mul_(2)|A.as_subclass(Plain).view(-1)|A.as_subclass(Plain).detach()|"
        "A.as_subclass(Passing)+1|A.as_subclass(Plain).sum()|torch.stack([A.as_subclass(Plain),A])|A.as_subclass(Silent)|A.as_subclass(Silent)*2|deepcopy(A)|"
        "torch.nn.Parameter(A.t())|torch.nn.Parameter(A.as_subclass(Plain))|A.as_subclass(Plain).clone()|Double.apply(A.as_subclass(Plain))|A.as_subclass(Plain).data|"
        "A.as_subclass(Passing).t()|A.as_subclass(Plain).new_zeros(2)|torch.zeros_like(A.as_subclass(Plain))|A.as_subclass(Plain).unbind()|A.as_subclass(Plain).numpy()",
    ),
    "module": (
        10,
        "module(A)|module(A,'register_full_backward_hook')|module(A,'register_full_backward_pre_hook')|module(A,'register_forward_hook')|module(A,'register_forward_pre_hook')|"
        "module(A[:1],'register_full_backward_hook')|module(A.t(),'register_full_backward_hook')|torch.nn.functional.layer_norm(A,A.shape[-1:])|"
        "torch.nn.functional.mse_loss(A,B)|torch.nn.functional.gelu(A)|torch.nn.functional.normalize(A,dim=0)|torch.nn.functional.dropout(A,0.5,False)|"
        "torch.nn.functional.cosine_similarity(A,B,dim=-1)|torch.nn.functional.softplus(A)|torch.nn.functional.silu(A)|torch.nn.functional.l1_loss(A,B)|"
        "torch.nn.functional.cross_entropy(A,torch.zeros(len(A),dtype=torch.long))|torch.nn.functional.relu(A,inplace=True)|torch.nn.functional.leaky_relu_(A)|"
        "torch.nn.functional.elu(A,inplace=True)|torch.nn.Flatten(0)(A)|torch.nn.Identity()(A)|torch.nn.Sequential(torch.nn.Tanh(),torch.nn.Softmax(-1))(A)|"
        "torch.nn.functional.huber_loss(A,B)|torch.nn.functional.smooth_l1_loss(A,B)|torch.nn.functional.glu(A)|torch.nn.functional.one_hot(torch.tensor([0,1]))|"
        "torch.nn.functional.embedding(torch.tensor([0,1,0]),A)|torch.nn.functional.avg_pool1d(A.unsqueeze(0),2)|torch.nn.functional.max_pool1d(A.unsqueeze(0),2)|"
        "torch.nn.functional.conv1d(A.unsqueeze(0),A.unsqueeze(0))|torch.nn.functional.scaled_dot_product_attention(A,A,A)|torch.nn.ReLU(inplace=True)(A*1)|"
        "torch.nn.utils.clip_grad_norm_([A,B],1.)|torch.optim.SGD([A],lr=0.1).step()|torch.optim.SGD([A,B],lr=0.1,momentum=0.9).step()|torch.optim.Adam([A],lr=0.1).step()|"
        "torch.optim.SGD([A],lr=0.1).zero_grad()|torch.nn.init.ones_(A)|torch.nn.init.eye_(A)|torch.nn.utils.parameters_to_vector([A,B])|torch.nn.functional.hardtanh_(A)",
    ),
    "checkpoint": (
        6,
        "checkpoint(torch.sin,A,use_reentrant=False)|checkpoint(torch.sin,A,use_reentrant=True)|checkpoint(lambda x,y:x.sin()*y,A,B,use_reentrant=False)|"
        "checkpoint(lambda x,y:x.sin()*y,A,B,use_reentrant=True)|checkpoint(lambda x:x*B,A,use_reentrant=False)|checkpoint(lambda x:x*B,A,use_reentrant=True)|"
        "checkpoint(lambda x:x[:1],A,use_reentrant=False)|checkpoint(lambda x:x.t(),A,use_reentrant=True)|checkpoint(lambda x:x.mul_(2),A*1,use_reentrant=False)|"
        "checkpoint(lambda x:x.mul(2).sin_(),A,use_reentrant=True)|checkpoint(lambda x:(x*2,x.exp()),A,use_reentrant=False)|checkpoint(lambda x:(x*2,x.exp()),A,use_reentrant=True)|"
        "checkpoint(Double.apply,A,use_reentrant=False)|checkpoint(Kept.apply,A,use_reentrant=True)|checkpoint(lambda x:x,A,use_reentrant=True)|"
        "checkpoint(lambda x:x,A,use_reentrant=False)|checkpoint(lambda x:x.detach(),A,use_reentrant=True)|checkpoint(module,A,use_reentrant=False)",
    ),
    "custom": (
        8,
        "Dirty.apply(A[:1])|Same.apply(A[:])|Views.apply(A.t())|Double.apply(A[0])|Dirty.apply(A*1)|Window.apply(A.t())|Kept.apply(A.view(-1))|Swapped.apply(A,A)|"
        "Once.apply(A.expand(2,*A.shape))|Both.apply(A*1,B)|Both.apply(A,A)|Same.apply(A.detach())|Dirty.apply(A.view(-1))|Double.apply(A.conj())|Kept.apply(A.conj())|"
        "Two.apply(A,A)|Sparing.apply(A[:1],B)|Same.apply(A).mul_(2)|Window.apply(A).mul_(2)|Views.apply(A)[0].mul_(2)|Double.apply(A).mul_(2)|Blind.apply(A).mul_(2)|"
        "Same.apply(A)[0]|Dirty.apply(Double.apply(A))|Dirty.apply(A)[0]|Swapped.apply(A,B)[0].mul_(B)",
    ),
    "whole": (
        14,
        "C=A*1;C.mul_(B)|C=A.clone();C[0]=B[0]|C=A*1;D=C[:1];C.mul_(3);E=Double.apply(D);C=(C,D,E)|C=A.view(-1);C+=1|C=A.unbind();C[0].mul_(2)|"
        "A[0],A[1]=A[1].clone(),A[0].clone()|C=[x.mul_(2) for x in A.split(1)]|C=torch.zeros_like(A);C[0]=A[0];C[1:]=B|C=torch.zeros(3,dtype=A.dtype);C[:2]=A[:2]|"
        "C=A*1;D=C.view(-1);D[0]=1.;C=(C,D)|C=A.t().clone();C.t_()|C=A*1;C.t().mul_(A.t())|C=A*1;C.requires_grad_(False)|C=A.detach();C.requires_grad_();C=C*2|"
        "C=A\nfor i in range(2): C=C*A+i|C=torch.zeros_like(A)\nfor i in range(len(A)): C[i]=A[i]*i|C=A*1\nfor x in C: x.mul_(2)|"
        "C=A*1;h=C.register_hook(lambda g:g*3);C=C*2|C=A*1;C.retain_grad();C.sum().backward(retain_graph=True);C=C.grad|"
        "C=A*2;D=C[:1];D.mul_(3);D.add_(B);C=(C,D)|C=A*2;D=C[0];E=C[1];D.mul_(E);C=(C,D,E)|C=A*2;D=C.view(-1);E=D[1:];C.mul_(2);D.add_(1);C=(E,D,C)|"
        "C=A*2;D=C.t();D.mul_(2);C.add_(D.t());C=(C,D)|C=A*2;D=C[:];C[:]=B;C=(C,D)|C=A*2;D=C.detach();D.mul_(2);C=C*C|C=A.data;C.add_(1)|C=A*2;C.data=C.data*2|"
        "C=torch.func.grad(lambda x:(x.sin()*x).sum())(A)|C=torch.vmap(torch.sin)(A)|C=torch.func.jacrev(torch.sin)(A)|C=torch.func.jvp(torch.sin,(A,),(A,))|"
        "C=torch.func.vjp(torch.sin,A)[0]|C=torch.autograd.functional.jacobian(torch.sin,A,create_graph=True)|C=torch.vmap(lambda x:x*B)(A)|C=torch.func.hessian(lambda x:(x**3).sum())(A)|"
        "C=torch.autograd.functional.vjp(torch.sin,A,A,create_graph=True)[1]|C=torch.autograd.grad((A*A).sum(),A,create_graph=True)[0];C=C*2|"
        "C=A.grad;C.mul_(2)|A.grad=None;(A*A).sum().backward()|C=A*1;C.backward(C.detach(),retain_graph=True)|C=A*2;C[C>0]*=3|C=A*2;C[:,0]=C[:,1]*2|C=A*2;C[[0]]=C[[1]]|"
        "C=A*2;D=C.expand(2,*C.shape);C.mul_(2);C=(C,D)|C=A*2;D=C.diagonal();D.mul_(2);C=(C,D)|C=A*2;D=C.unsqueeze(0);D.squeeze_();C=(C,D)|C=A*2;C.unsqueeze_(0);C.mul_(2)|"
        "C=A.clone();C.copy_(B);C=C*A|C=A*2;D=torch.view_as_real(C);D.mul_(3);C=(C,D)|C=A*2;D=C.conj();D.mul_(B);C=(C,D)|C=A*2;D=C.imag;C.mul_(1j);C=(C,D)|C=A*2;D=C.mH;C.add_(D);C=(C,D)|"
        "C=torch.empty(0,dtype=A.dtype);C=torch.cat([C,A.view(-1)])|C=sum(A)|C=max(A)|C=A.max(0)|C=A.min(0).values|C=A.sort(0)|C=A.topk(1)|C=A.kthvalue(1)|C=A.median(0)|C=A.aminmax()",
    ),
}
"""Statements by kind, and how often a kind is drawn, as in `statements.KINDS`; what a statement makes, it calls C."""

SPLIT = {kind: (weight * 0.35, codes) for kind, (weight, codes) in KINDS.items()}
TABLE = [(weight, codes.split("|")) for table in (SPLIT, MORE) for weight, codes in table.values()]
BEGINNINGS = (
    *STARTS,
    (
        25,
        "torch.tensor([[0.4157+0.2351j,-0.7213j,0.5719-0.3j],[1.1093+0j,0.3671-0.9119j,-0.4421+0.1j]],requires_grad=True,dtype=torch.complex128)|"
        "torch.tensor([[0.6431,-1.1579],[0.2239,0.5923]],dtype=torch.float64,requires_grad=True)|"
        "torch.tensor([[0.2239+1.0471j,0.1j],[0.5923-0.1357j,1.1237]],dtype=torch.complex128)|A.conj()*1.5",
    ),
    (
        25,
        "torch.tensor([[0.5137,-1.2331,0.3719],[1.1213,0.7359,-0.4177],[0.6317,0.2879,-0.9341]],dtype=torch.float64,requires_grad=True)|"
        "torch.tensor([[0.2113,0.8237,-1.0391],[0.4519,-0.3533,0.6271],[1.0133,-0.7717,0.1559]],dtype=torch.float64).t()|A.t()*1.5|A.view(-1)[::2]",
    ),
)
BLOCKS = (*MODES, (3, "mode"))

REASONS = {
    r"as_strided|unfold|\[1:\]|\.T\.add_|add_\(v\[\d+\]\[0\]\)|copy_\(\S*\.t\(\)\)": "PyTorch leaves open what a write into memory that it also reads gives",
    r"silu|avg_pool|relu|ReLU|cosine_similarity|embedding|conv1d|cross_entropy|kron|jacobian\(": "PyTorch refuses what is computed here",
    r"func\.hessian": "PyTorch's forward mode writes the derivative of a power in another form",
    r"func\.jvp": "the tangent of a complex function comes in another form",
    r"as_subclass|_make_subclass": "PyTorch makes an alias more where a custom Function returns its input and that is of a subclass",
    r"kthvalue": "which of equal values is found is left open",
    r"from_numpy|as_tensor": "a view that went through NumPy keeps its storage offset",
    r"func\.(vjp|grad)|expand|broadcast|take|view": "the history of a view of a changed base is worked out at another time",
}
"""Why a program may differ, by what is left of it when it is shrunk."""


Program = tuple[list[str], list[Step]]


def program(seed: int, length: int = LENGTH) -> Program:
    """Return what the program begins with, and its statements."""
    draw = random.Random(seed)
    start = str(pick(draw, BEGINNINGS)).split("|")
    steps = []
    for _ in range(length):
        codes = pick(draw, TABLE)
        mode = str(pick(draw, BLOCKS))
        steps.append(Step(codes[int(draw.random() * len(codes))], draw.random(), draw.random(), mode))
    return start, steps


class Narrator(Player):
    """Sees more than a `Player`: all strides, dtypes, classes and bits, and what is no tensor."""

    def play(self, step: Step) -> str:
        """Return what is refused is refused: the words of errors are compared elsewhere."""
        told = super().play(step)
        return told if told in ("ok", "skipped") else "refused"

    def _statements(self) -> dict[str, Any]:
        torch = self.torch

        def override(kind: type, function: Any, classes: Any, args: Any = (), options: Any = None) -> Any:
            return super(kind, kind).__torch_function__(function, classes, args, options)

        plain = type("Plain", (torch.Tensor,), {})
        passing = type("Passing", (torch.Tensor,), {"__torch_function__": classmethod(override)})
        silent = type("Silent", (torch.Tensor,), {"__torch_function__": torch._C._disabled_torch_function_impl})
        return {
            **super()._statements(),
            "np": np,
            "checkpoint": torch.utils.checkpoint.checkpoint,
            "module": self._module,
            "Plain": plain,
            "Passing": passing,
            "Silent": silent,
        }

    def _module(self, x: Any, hook: str = "") -> Any:
        torch = self.torch

        class Scaled(torch.nn.Module):  # type: ignore[misc, name-defined]
            def __init__(self) -> None:
                super().__init__()
                self.scale = torch.nn.Parameter(torch.tensor(1.25, dtype=torch.float64))

            def forward(self, x: Any) -> Any:
                return x.sin() * self.scale

        module = Scaled()
        if hook:
            getattr(module, hook)(
                lambda module, *given: self.log.append(
                    [hook, [self.numbers(g) for some in given for g in (some if isinstance(some, tuple) else (some,))]]
                )
            )
        return module(x)

    def _made(self, code: str, names: dict[str, Any]) -> Any:
        made = super()._made(code, names)
        if isinstance(made, np.ndarray):
            self.log.append(["array", str(made.dtype), list(made.shape), self.numbers(self.torch.tensor(made))])
        elif isinstance(made, (bool, int, float, complex, str, list, np.generic)):
            self.log.append([type(made).__name__, self._plain(made)])
        return made

    def _plain(self, x: Any) -> Any:
        if isinstance(x, list):
            return [self._plain(y) for y in x]
        return self.numbers(self.torch.tensor(x)) if isinstance(x, (float, complex)) else str(x)

    def block(self, mode: str) -> Any:
        if mode != "mode":
            return super().block(mode)

        class Passing(self.torch.overrides.TorchFunctionMode):  # type: ignore[misc, name-defined]
            def __torch_function__(self, function: Any, classes: Any, args: Any = (), options: Any = None) -> Any:
                return function(*args, **(options or {}))

        return Passing()

    def snapshot(self) -> Row:
        with self.torch._C.DisableTorchFunctionSubclass():
            return super().snapshot()

    def _known(self, number: int, t: Any, nodes: list[Any]) -> Row:
        known = super()._known(number, t, nodes)
        return [*known, type(t).__name__, str(t.dtype), self._memory(t), t.is_conj(), t.is_neg()]


def played(program: Program, torch: Any, **options: Any) -> Row:
    return observe(program, torch, each=False, player_of=Narrator, **options)


# ---------------------------------------------------------------- what differs, made small


def settled(program: Program, torch: Any) -> tuple[list[str], list[Step], list[int]]:
    """The program with whole numbers for its tensors, and how many tensors each statement makes."""
    start, steps = program
    player, fixed, made = Narrator(torch, start), [], []
    for step in steps:
        known = len(player.v)
        fixed.append(step._replace(a=position(step.a, known), b=position(step.b, known)))
        with contextlib.suppress(Exception):
            player.play(step)
        made.append(len(player.v) - known)
    return start, fixed, made


def without(steps: list[Step], made: list[int], number: int, first: int) -> tuple[list[Step], list[int]]:
    """The statements but one and those that use what it makes."""
    kept, count, known = [], [], first
    positions = {i: i for i in range(first)}
    for i, (step, n) in enumerate(zip(steps, made, strict=True)):
        used = {int(step.a if name == "A" else step.b) for name in NAMES.findall(step.code)}
        if i != number and used <= positions.keys():
            kept.append(step._replace(a=positions.get(int(step.a), 0), b=positions.get(int(step.b), 0)))
            count.append(n)
            positions |= {known + j: len(positions) + j for j in range(n)}
        known += n
    return kept, count


def shrunk(program: Program, torch: Any, apart: Callable[[Program], bool]) -> Program:
    """The program without the statements that it parts without."""
    start, steps, made = settled(program, torch)
    if not apart((start, steps)):
        return program
    for end in range(1, len(steps)):
        if apart((start, steps[:end])):
            steps, made = steps[:end], made[:end]
            break
    number = len(steps) - 1
    while number >= 0:
        fewer = without(steps, made, number, len(start))
        if fewer[0] and apart((start, fewer[0])):
            steps, made = fewer
        number = min(number, len(steps)) - 1
    for i, step in enumerate(steps):
        if step.mode and apart((start, [*steps[:i], step._replace(mode=""), *steps[i + 1 :]])):
            steps[i] = step._replace(mode="")
    return start, steps


def script(program: Program, torch: Any) -> str:
    """Python text of the program, which runs with either engine as `torch`."""
    start, steps, made = settled(program, torch)
    lines = [
        "from tests.torch.core.programs import Narrator",
        "player = Narrator(torch, [])",
        "v = player.v",
        "globals().update(player.names)",
        *(f"v.append({NAMES.sub('v[0]', code)})" for code in start),
    ]
    known = len(start)
    for step, n in zip(steps, made, strict=True):
        text = step.shown(known)
        if n and not whole(step.code):
            text = f"v.append({text})" if n == 1 else f"v.extend({text})"
        elif n:
            text += "\nv.append(C)" if n == 1 else "\nv.extend(C)"
        if step.mode:
            text = f"with player.block({step.mode!r}):\n" + "\n".join(f"    {line}" for line in text.split("\n"))
        lines.append(text)
        known += n
    return "\n".join([*lines, "print(player.log, *v, sep='\\n')"])


# ---------------------------------------------------------------- recording


def stable(program: Program, torch: Any) -> Row | None:
    """Return what a program gives; None where the last digits of its numbers decide."""
    seen = played(program, torch)
    return seen if short(seen) == short(played(program, torch, shift=NUDGE)) else None


def differs(program: Program, torch: Any, ours: Any) -> bool:
    seen = stable(program, torch)
    return seen is not None and short(played(program, ours)) != short(seen)


def reason(program: Program, torch: Any, ours: Any) -> str:
    """Return why a program differs, or its text where that is not known."""
    text: list[str] = []
    played(shrunk(program, torch, lambda p: differs(p, torch, ours)), torch, text=text)
    return next((why for pattern, why in REASONS.items() if re.search(pattern, "\n".join(text))), "; ".join(text))


def record(torch: Any, ours: Any) -> dict[str, Any]:
    """Digests of the first COUNT programs; `open` are those in which our engine still differs, and why."""
    digests, apart = [], {}
    for seed in range(COUNT):
        seen = stable(program(seed), torch)
        digests.append(UNSTABLE if seen is None else short(seen))
        if seen is not None and short(played(program(seed), ours)) != digests[-1]:
            apart[seed] = reason(program(seed), torch, ours)
    rows = [" ".join(digests[i : i + PER_LINE]) for i in range(0, COUNT, PER_LINE)]
    return {"tables": table_digest(), "open": apart, "digests": rows}


def table_digest() -> int:
    """Changes with the tables, after which expectations must be recorded anew."""
    return zlib.crc32(repr((TABLE, BEGINNINGS, BLOCKS, LENGTH)).encode())


if __name__ == "__main__":
    import sys

    import torch

    from autograph_cli import torch as ours

    torch.set_num_threads(1)
    for seed in map(int, sys.argv[1:]):
        if differs(program(seed), torch, ours):
            left = shrunk(program(seed), torch, lambda p: differs(p, torch, ours))
            print(f"# program {seed}", script(left, torch), sep="\n")
            print("#", difference(played(left, ours), played(left, torch)))
    if len(sys.argv) == 1:
        EXPECTED.write_text(json.dumps(record(torch, ours), indent=1) + "\n")

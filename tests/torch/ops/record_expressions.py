"""Records with real PyTorch what each expression gives, into expressions.json: `python tests/torch/ops/record_expressions.py`.

For each line below: the value, the graph of `grad_fn`, the gradients for a fixed cotangent, their own graphs
under `create_graph`, and the gradients of those. `observe` asks any engine; test_expressions.py asks ours.
"""

import math
import re
import warnings
from pathlib import Path

from tests.torch.recording import written

EXPECTED = Path(__file__).with_name("expressions.json")

# Leaves, made when an expression names them: (values, dtype, whether a gradient is wanted).
LEAVES = {
    "x": ([[0.7, 1.9, 0.4], [1.3, -0.6, 2.2]], "float64", True),
    "w": ([1.1, 0.5, 1.7], "float64", True),
    "s": (1.6, "float64", True),
    "b": ([[[0.3, 1.2], [0.8, -0.4], [1.5, 0.6]], [[2.1, 0.9], [-1.1, 0.2], [0.7, 1.4]]], "float64", True),
    "z": ([0.6 + 0.8j, -1.2 + 0.5j], "complex128", True),
    "f": ([0.5, 1.25, 2.0], "float32", True),
    "h": ([0.5, 1.25, 2.0], "float16", True),
    "k": ([0.5, 1.25, 2.0], "bfloat16", True),
    "i": ([2, 1, 3], "int64", False),
    "u": ([2, 1, 3], "uint8", False),
    "m": ([[True, False, True], [False, True, True]], "bool", False),
    "j": ([[1, 0, 1], [0, 0, 1]], "int64", False),
}

EXPRESSIONS = """
x+2; 2+x; x-2; 2-x; x*2; 2*x; x/2; 2/x; x**2; (x*x)**1.5; x**0; x**1; x**3; x**0.5; x**-1; 2**x; 0**(x*x); 2.5**w; w**w; w**s; (x*x)**w
x//2; x%2; x%w; w%2; -x; +x; abs(x); x+w; x-w; x*w; x/w; w+x; x+s; s*x; s/x; x/s; s*s; s+1; s**2; s**s; x*x; x+x; x-x; x/x
x+b[:,:,0]; x[:,None]*w; x[:,:1]*x[:1]; x[:,:1]+w; w[:,None]/w; w[:,None]**w; w[:,None]-x[0]; x.sub(x,alpha=2); x.add(x,alpha=2)
x.add(w,alpha=3); w.sub(x,alpha=-2); torch.rsub(x,x); torch.rsub(x,w,alpha=2); torch.rsub(x,2); x.mul(2.); x.div(w); x.true_divide(2)
torch.div(x,w,rounding_mode='floor'); torch.div(x,w,rounding_mode='trunc'); x.floor_divide(w); x.remainder(w); x.fmod(2); x.fmod(w)
x.remainder(2); x.maximum(w); x.minimum(w); x.maximum(x); torch.max(x,w); torch.min(x,w); torch.addcmul(x,x,w); torch.addcmul(x,x,x,value=2)
torch.addcdiv(x,w,w); torch.addcdiv(x,x,w,value=0.5); torch.lerp(x,w,0.3); torch.lerp(x,x*2,0.8); torch.lerp(x,x*2,w); x.hypot(w)
x.logaddexp(w); x.logaddexp2(w); x.atan2(w); x.fmax(w); x.fmin(w); x.copysign(w); x.xlogy(w*w); x.dist(w.expand(2,3)); x.heaviside(w.detach())
x.exp(); x.exp2(); x.expm1(); (x*x).log(); (x*x).log2(); (x*x).log10(); (x*x).log1p(); (x*x).sqrt(); (x*x).rsqrt(); x.reciprocal(); x.sin()
x.cos(); x.tan(); x.sinh(); x.cosh(); x.tanh(); (x/3).asin(); (x/3).acos(); x.atan(); x.asinh(); (x*x+1).acosh(); (x/3).atanh(); x.sigmoid()
x.relu(); x.floor(); x.ceil(); x.round(); x.trunc(); x.frac(); x.sign(); x.sgn(); x.square(); x.neg(); x.positive(); x.abs(); x.erf(); x.erfc()
(x/3).erfinv(); x.logit(); (x/5).logit(0.1); x.sinc(); x.clamp(0,1); x.clamp(min=0.5); x.clamp(max=1); x.clamp(w*0,w); x.clip(0,1); x.clamp_min(0.5)
x.clamp_max(1); x.nan_to_num(); x.deg2rad(); x.rad2deg(); (x*x).lgamma(); (x*x+1).digamma(); torch.where(x>0,x,w); torch.where(m,x,0.)
torch.where(m,1.,x); torch.where(m,w,s); x.masked_fill(m,1.); x.masked_fill(m,s); x.eq(x); x.detach(); x.clone(); x.sin().cos()
x.sum(); x.sum(0); x.sum((0,1)); x.sum(1,keepdim=True); x.sum(-1); x.sum(dtype=torch.float64); x.sum(0,dtype=torch.float32); s.sum(); b.sum((0,2))
x.mean(); x.mean(0); x.mean((0,1),keepdim=True); x.prod(); x.prod(0); (x*m).prod(1); (x*m).prod(); x.prod(1,keepdim=True); x.std(); x.std(0); x.var(); x.var(0)
x.var(1,keepdim=True); x.var(unbiased=False); x.std(1,correction=0); x.norm(); x.norm(dim=1); x.norm(p=0); x.norm(p=1); x.norm(p=1.5); x.norm(p=2)
x.norm(p=3); x.norm(p=math.inf); x.norm(p=-math.inf); x.norm(1,0); x.norm(2,0); x.norm(3,1,True); x.norm(math.inf,1); x.norm(p=0.5,dim=1); x.norm(p=1.5,dim=(0,1))
x.norm(dim=(0,1),keepdim=True); w.norm(); w.norm(p=3); s.norm(); (x*0).norm(); (x*0).norm(p=3); torch.linalg.norm(x); torch.linalg.vector_norm(x,3)
x.max(); x.min(); x.max(0).values; x.min(1).values; x.max(1,keepdim=True).values; x.amax(0); x.amin(1); x.amax(); x.amax((0,1),keepdim=True); (x*0).max(); (x*0).amax(1)
x.aminmax(); x.argmax(); x.median(); x.median(1).values; x.nanmedian(); x.mode(1).values; x.quantile(0.4); x.cumsum(0); x.cumsum(1); x.cumprod(1)
x.cummax(0).values; x.cummin(1).values; x.logcumsumexp(1); x.logsumexp(0); x.logsumexp((0,1)); x.logsumexp(1,keepdim=True); x.kthvalue(1).values; x.topk(2).values
x.topk(1,0,largest=False).values; x.sort(0).values; x.sort(descending=True).values; x.msort(); x.nansum(); x.nanmean(); x.diff(); x.trace()
torch.var_mean(x,0)[0]; torch.var_mean(x,0)[1]; torch.std_mean(x)[0]; x.count_nonzero(); x.renorm(2,0,1.); x.corrcoef(); x.cov()
x@w; x@x.T; w@w; w@x.T; x.T@x; torch.matmul(x[None],w); torch.matmul(x,b); torch.matmul(w,b); torch.matmul(b.mT,w); torch.matmul(b,b.mT)
torch.matmul(b.mT,x.T); torch.matmul(b[:,None],b.mT); torch.matmul(b.mT[None],b[0]); torch.matmul(x.detach(),b); torch.matmul(b,x[:,:2]); torch.matmul(b[None],b.mT[:1])
x.mm(x.t()); x.mm(x.t().contiguous()); b.bmm(b.mT); torch.dot(w,w); torch.mv(x,w); x.addmm(x[:,:2],x); torch.addmm(w,x,x.T@x,beta=2,alpha=3); torch.outer(w,w)
w.ger(w); torch.addmv(w[:2],x,w); torch.baddbmm(b,b@b.mT,b); torch.addbmm(b[0],b@b.mT,b); torch.chain_matmul(x,x.T,x); torch.linalg.multi_dot([x.T,x,w])
torch.einsum('ij,j->i',x,w); torch.einsum('ij,kj->ik',x,x); torch.einsum('ij->',x); torch.einsum('bij,bij->b',b,b); torch.einsum('ii->i',x.T@x); torch.tensordot(x,x,2)
torch.kron(w,w); torch.cross(x,w.expand(2,3),dim=1); torch.linalg.cross(x,x*w); torch.vdot(w,w); torch.inner(x,w); torch.cdist(x,x*w); x.T.mm(x)
torch.linalg.det(x[:,:2]); torch.linalg.inv(x[:,:2]); torch.linalg.solve(x[:,:2],x[:,2]); torch.trace(x@x.T); torch.matrix_power(x[:,:2],3)
x.t(); x.T; x.mT; x.H; x.adjoint(); x.view(6); x.view(-1,2); x.reshape(3,2); x.t().reshape(6); x.t().reshape(3,2,1); x.flatten(); x.t().flatten(); x.expand(2,2,3)
s.expand(3); w.expand(2,-1); x.permute(1,0); x.permute(-1,0); x.squeeze(); x[:1].squeeze(); x[:1].squeeze(0); x.squeeze(0); x[:1,None].squeeze((0,1)); x.unsqueeze(0); x.unsqueeze(-1)
x.transpose(0,1); x.swapaxes(0,1); b.movedim(0,2); b.permute(2,0,1); x.view_as(x); x.repeat(2,1); x.repeat(2,1,1); w.repeat(2); x.tile(2); x.broadcast_to(2,2,3); x.narrow(1,0,2)
x.ravel(); x.contiguous(); x.t().contiguous(); x.unflatten(1,(3,1)); x.as_strided((2,),(1,)); x.as_strided((2,2),(1,1)); x.as_strided((2,3),(1,2)); x.diagonal(); x.diagonal(1); x.diag()
w.diag(); w.diag_embed(); w.diagflat(); x.tril(); x.triu(1); x.flip(0); x.fliplr(); x.flipud(); x.rot90(); x.roll(1,0); x.roll(2); x.roll((1,2),(0,1)); x.unfold(1,2,1); w.unfold(0,2,1)
x.chunk(2)[0]; x.chunk(2,1)[1]; x.split(1)[1]; x.split([1,2],1)[1]; x.tensor_split(3,1)[0]; x.tensor_split([1],1)[1]; x.unbind(0)[1]; x.unbind(1)[2]; x.hsplit(3)[0]; x.vsplit(2)[1]
torch.cat([x,x]); torch.cat([x,x[:1]],0); torch.cat([x,w[None]]); torch.cat([x,x.detach()],1); torch.stack([x,x]); torch.stack([w,w],1); torch.hstack([x,x]); torch.vstack([x,w]); torch.dstack([x,x])
torch.column_stack([w,w]); torch.stack([s,s,w[0]]); torch.meshgrid(w,w,indexing='ij')[0]; torch.cartesian_prod(w,w); torch.block_diag(x,w); torch.combinations(w); torch.atleast_2d(w); x.repeat_interleave(2,0)
x[0]; x[:,1]; x[0:1]; x[...,0]; x[[0,1]]; x[0,[1,2]]; x[:,None,1]; x[:,::2]; x[:]; x[x>0]; x[m]; x[:,m[0]]; x[None]; x[True]; x[...]; x[torch.tensor(0)]; x[0][0]; x[0,0]; x[-1]; x[:,-1:]; x[None,:,None]
x[[0,0,1]]; x[:,[2,0]]; x[[[0],[1]],[2,0]]; b[[0,1],:,[1,0]]; b[0,:,[1,0]]; b[:,[0,2],1]; b[:,[0,2],None]; x[torch.tensor([[0,1],[1,0]])]; x[torch.tensor([True,False])]; x[1:1]; x[m,None]; x[False]; b[...,[0,1],0]
x.gather(1,j); x.gather(0,j); x.index_select(0,torch.tensor([0,0,1])); x.take(torch.tensor([0,4])); x.take_along_dim(j,1); x.masked_select(m); x.index_add(0,torch.tensor([1,0]),x*2); x.index_copy(0,torch.tensor([1]),w[None])
x.index_put((torch.tensor([0]),),w); x.index_put((torch.tensor([0,0]),),w,accumulate=True); x.index_fill(0,torch.tensor([0]),1.); x.scatter(1,j,x*2); x.scatter(1,j,5.); x.scatter_add(1,j,x*2); x.scatter_reduce(1,j,x,'sum'); x.masked_scatter(m,b)
x.select(1,2); x.slice_scatter(w[None],0,0,1); x.select_scatter(w,0,1); x.diagonal_scatter(w[:2]); torch.searchsorted(w,s); torch.bucketize(w,torch.tensor([1.],dtype=w.dtype)); x.nonzero(); torch.where(m)[0]
x.double(); x.float(); x.to(torch.float64); x.type(torch.float64); x.half(); x.bfloat16(); x.float().double(); x.to(torch.float32)*2; x.long(); x.bool(); x.new_zeros(2); torch.zeros_like(x); torch.complex(x,x)
f*2; f+x[0]; f*w; f@f; h*2; h+h; h*f; h+k; h*h.sum(); k*k; k+1.5; k*f; h.exp(); k.exp(); k.sum(); h.mean(); f*s; s*f; f*2.5; f/3; f.sqrt(); f.norm(); k.norm(); h.pow(2); f**i; i**f; i*f; f*u; u*2.5+f; i/2*f; (i*2).sum()*f; m*x; m+x; f.sum().double()*s
f.softmax(0); k.softmax(0); h.log_softmax(0); torch.where(m[0],f,w); torch.cat([f,w]); torch.stack([f,w]); f.to(torch.float64)*w; f.sum(dtype=torch.float64); h@h; k@k; f.std(); f.cumsum(0); f+1j; f*(1+2j)
z*z; z+1; z*2j; z/z; z-w[:2]; z.abs(); z.exp(); z.sin(); z.log(); z.sqrt(); z.conj(); z.real; z.imag; z.angle(); z.sum(); z.mean(); z**2; z**z; 2**z; z.reciprocal(); z.tanh(); z.sgn(); z.norm(); z@z; torch.dot(z,z); z*x[0,:2]
torch.view_as_real(z); torch.view_as_complex(x[:,:2].contiguous()); z.real*z.imag; z.conj()*z; (z*z.conj()).real; torch.outer(z,z)@z; z.prod(); torch.polar(w,w); z.cos(); torch.vdot(z,z); z.var()
z.cumsum(0); z[1]; z.mul(w[:2]); z.sigmoid(); z.square(); torch.cat([z,w])
torch.nn.functional.softmax(x,1); x.softmax(0); x.log_softmax(0); s.softmax(0); F.linear(x,x); F.linear(x,x,s.expand(2)); F.linear(b.mT,x,w[:2]); F.linear(w,x); F.mse_loss(x,x.detach()); F.mse_loss(x,w*x,reduction='sum')
F.mse_loss(x,x*w,reduction='none'); F.relu(x); F.leaky_relu(x); F.leaky_relu(x,0.2); F.softplus(x); F.softplus(x,2,3); F.logsigmoid(x); F.sigmoid(x); F.tanh(x); F.binary_cross_entropy_with_logits(x,m.double())
F.binary_cross_entropy_with_logits(x,m.double(),pos_weight=w.detach()); F.binary_cross_entropy_with_logits(x,m.double(),w.detach(),reduction='sum'); F.gelu(x); F.elu(x); F.silu(x); F.cross_entropy(x,torch.tensor([0,2])); F.nll_loss(x,torch.tensor([0,2]))
F.smooth_l1_loss(x,w.expand(2,3)); F.huber_loss(x,w.expand(2,3)); F.l1_loss(x,w.expand(2,3)); F.hardtanh(x); F.normalize(x); F.cosine_similarity(x,w[None]); F.pad(x,(1,1)); F.one_hot(j); F.layer_norm(x,(3,)); F.dropout(x,0.)
x.where(x>1,w); x.where(x>1,0); x.where(condition=x>1,other=2.); torch.special.ndtr(i); torch.trapezoid(i); torch.trapezoid(i,dx=0.5)
torch.cumulative_trapezoid(i); i.sign(); m.sign(); m.sgn(); u.add(u,alpha=-1); u.sub(u,alpha=-2); torch.logit(k/4,0.1); torch.copysign(k,-1.0)
torch.linalg.matrix_power(j[:,:2],3); torch.gradient(i)[0]; F.rms_norm(h*.001,(3,)); F.rms_norm(k,(3,)); F.poisson_nll_loss(i,i,log_input=False)
F.pairwise_distance(i[None],j[:1]); F.margin_ranking_loss(i,i.flip(0),i); torch.unravel_index(u,(2,2))[0]; F.cross_entropy(k[None],k[None]/4)
torch.tensordot(j[:1].int(),j.int(),([0],[0])); i.int()[None,:2].addbmm(j[None,:1,:2].int(),j[None,:,:2].int()); F.cross_entropy(x,j[:,0],label_smoothing=0.1)
"""

# Scripts whose last statement is the expression; the others change things in place.
SCRIPTS = """
y = x*1; y.mul_(w); y
y = x*1; y *= y; y
y = x*1; y += w; y -= s; y /= 2; y
y = x*x; y **= 2; y
y = x*x; y.sqrt_(); y
y = x*1; y.exp_(); y
y = x*1; y.tanh_().sigmoid_(); y
y = x*1; y.relu_(); y
y = x*1; y.sin_().cos_(); y
y = x*1; y.neg_().abs_(); y
y = x*1; y.clamp_(0, 1); y
y = x*1; y.add_(w, alpha=2); y
y = x*1; y.addcmul_(x, w); y
y = x*1; y.zero_(); y
y = x*1; y.fill_(3.); y
y = x*1; y.fill_(s); y
y = x*1; y.copy_(w); y
y = x*1; y.masked_fill_(m, 0.5); y
y = x*1; y.t_(); y
y = x*1; y.unsqueeze_(0); y
y = x*1; y.squeeze_(); y
y = x*1; y.transpose_(0, 1); y
y = x*1; y.reciprocal_(); y
y = x*1; y.lerp_(w.expand(2, 3), 0.25); y
y = x*1; y.index_add_(0, torch.tensor([0]), w[None]); y
y = x*1; y.scatter_(1, j, 2.); y
y = x*1; y.scatter_add_(1, j, x); y
y = x*1; y.index_put_((torch.tensor([1]),), w); y
y = x*1; y.cumsum_(0); y
y = x*1; y.tril_(); y
y = x*1; y[1:] *= 10; y
y = x*1; y[0] = 5; y
y = x*1; y[0] = w; y
y = x*1; y[:] = w; y
y = x*1; y[...] = s; y
y = x*1; y[:, 1] = s; y
y = x*1; y[:, 1:] = w[:2]; y
y = x*1; y[m] = 0; y
y = x*1; y[m] = b.flatten()[:4]; y
y = x*1; y[[0, 1], [2, 0]] = w[:2]; y
y = x*1; y[torch.tensor([1])] = w; y
y = x*1; y[0, 0] += s; y
y = x*1; y[0][1] = s; y
y = x*1; y[0].mul_(w); y[1].add_(y[0]); y
y = x*1; y[:, :2].mul_(2); y[0]
y = x*1; v = y[0]; y.mul_(2); v
y = x*1; v = y[0]; v.mul_(2); y
y = x*1; v = y[0]; v.mul_(2); v
y = x*1; v = y[0]; y[1] = 3; v*v
y = x*1; v = y.t(); v[0] = w[:2]; y
y = x*1; v = y.view(6)[::2]; v.mul_(w); y
y = x*1; v = y.diagonal(); v.add_(s); y
y = x*1; y.diagonal().zero_(); y
y = x*1; v = y.t()[1:]; v.copy_(x.t()[:2]); y
y = x*1; y[1].exp_(); y.sum()
y = x*1; v = y[:, 1:]; v[0] = 2; v.mul_(3); y
y = x*1; v = y.detach(); v.mul_(2); y
y = torch.zeros(2, 3, dtype=torch.float64); y[0] = w; y
y = torch.zeros(2, 3, dtype=torch.float64); y[1, 1:] = w[:2]*s; y
y = torch.zeros(3, dtype=torch.float64); y += w; y.mul_(s); y
y = torch.zeros(2, 3, dtype=torch.float64); v = y[0]; v.copy_(w); y*2
y = torch.zeros(3, dtype=torch.float64); y.copy_(f); y
y = torch.zeros(2, 3, dtype=torch.float64); y.diagonal().copy_(w[:2]); y
y = torch.zeros(3); y.copy_(w); y
y = s*1; y.mul_(s); y
y = s*1; y += 1; y *= y; y
y = w*1; y[0] = s; y[1] = y[0]; y
y = w*1; y[1:] += y[:-1]*2; y
y = w*1; y[i - 1] = w*2; y
y = w.clone(); y[0] = 7; y*y
y = x.expand(2, 2, 3).clone(); y[0, 1] = w; y
y = x.unbind(0)[0]*1; y.mul_(w); y
y = z*1; y.mul_(z); y
y = z*1; y[0] = 1j; y
y = z*1; y.real.mul_(2); y
y = b*1; y[:, 0, :] *= s; y[0].zero_(); y
y = b*1; y[..., 0] = x; y
y = b*1; y.permute(2, 0, 1)[0].add_(x); y
""".strip().splitlines()


def cases():
    """Every piece of code, expressions and scripts."""
    return [c.strip() for line in EXPRESSIONS.strip().splitlines() for c in line.split(";")] + SCRIPTS


# ---------------------------------------------------------------- asking an engine


def evaluate(torch, code, given=()):
    """The leaves that the code names and can be differentiated by, and the value of its last statement."""
    names = {name: spec for name, spec in LEAVES.items() if re.search(rf"\b{name}\b", code)}
    scope = {"torch": torch, "math": math, "F": torch.nn.functional, **dict(given)}
    leaves = {}
    for name, (values, dtype, wanted) in names.items():
        scope[name] = torch.tensor(values, dtype=getattr(torch, dtype))
        if wanted:
            leaves[name] = scope[name].requires_grad_()
    *before, last = code.split("; ")
    exec("\n".join(before), scope)
    return leaves, eval(last, scope)


def graph(fn, leaves):
    """The nodes from `fn` on, breadth first: name, then for each edge the node's number and, if not 0, the input's."""
    names = {id(leaf): name for name, leaf in leaves.items()}
    nodes, numbers, rows = [fn], {fn: 0}, []
    for node in nodes:
        row = [node.name().rpartition("::")[2]]
        if hasattr(node, "variable"):
            row.append(names[id(node.variable)])
        for target, number in node.next_functions:
            if target is None:
                row.append("-")
                continue
            if target not in numbers:
                numbers[target] = len(nodes)
                nodes.append(target)
            row.append(f"{numbers[target]}.{number}" if number else f"{numbers[target]}")
        rows.append(" ".join(row))
    return "; ".join(rows)


def plain(tensor):
    """Shape, dtype and elements; complex numbers as pairs."""
    raw = tensor.detach()
    flat = raw.clone().reshape(-1).tolist()
    if "complex" in str(raw.dtype):
        flat = [part for number in flat for part in (number.real, number.imag)]
    flat = [str(n) if isinstance(n, float) and not math.isfinite(n) else float(f"{n:.9g}") for n in flat]
    return [str(raw.dtype).removeprefix("torch."), list(raw.shape), flat]


def cotangent(torch, tensor):
    """A fixed gradient for a tensor, different for each element."""
    n = tensor.numel()
    parts = [math.cos(1 + 2 * position) for position in range(n)]
    numbers = [complex(a, 0.3 - a) for a in parts] if "complex" in str(tensor.dtype) else parts
    return torch.tensor(numbers, dtype=tensor.dtype).reshape(tuple(tensor.shape))


def observe(torch, code):
    """Everything that is recorded of one piece of code."""
    leaves, value = evaluate(torch, code)
    value = value[0] if isinstance(value, tuple) else value
    found = {"value": plain(value)}
    if not value.requires_grad:
        return found
    found["graph"] = graph(value.grad_fn, leaves) if value.grad_fn is not None else "leaf"
    try:
        found |= derivatives(torch, leaves, value)
    except RuntimeError as error:
        found["error"] = str(error).partition(". ")[0]
    return found


def derivatives(torch, leaves, value):
    """The gradients, their graphs, and the gradients of those."""
    given, found = cotangent(torch, value), {}
    targets = list(leaves.values())
    raw = torch.autograd.grad(value, targets, given, retain_graph=True, allow_unused=True)
    first = torch.autograd.grad(value, targets, given, create_graph=True, allow_unused=True)
    found["first"] = named(leaves, raw)
    if named(leaves, first) != found["first"]:
        found["recorded"] = named(leaves, first)
    again = {name: g for name, g in zip(leaves, first, strict=False) if g is not None and g.requires_grad}
    found["graphs"] = {name: graph(g.grad_fn, leaves) for name, g in again.items() if g.grad_fn is not None}
    if again:
        roots = list(again.values())
        second = torch.autograd.grad(roots, targets, [cotangent(torch, g) for g in roots], allow_unused=True)
        found["second"] = named(leaves, second)
    return found


def named(leaves, grads):
    return {name: None if g is None else plain(g) for name, g in zip(leaves, grads, strict=False)}


def main():
    import torch

    warnings.simplefilter("ignore")
    found, failed = {}, []
    for code in cases():
        try:
            found[code] = observe(torch, code)
        except Exception as error:
            failed.append(f"{code}: {type(error).__name__}: {error}")
    if failed:
        raise SystemExit("\n".join(failed))
    written(EXPECTED, found)


if __name__ == "__main__":
    main()

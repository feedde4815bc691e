"""Records with real PyTorch how results and gradients are laid out in memory, into strides.json: `python -m
tests.torch.core.running.record_strides`.

Each expression is tried on arguments of several shapes and layouts: contiguous, permuted, with gaps, expanded, with
channels last.
Strides of dimensions of one element tell nothing and are not compared. `observe` asks any engine; test_strides.py asks
ours.
"""

import json
import math
import random
import warnings
from pathlib import Path

EXPECTED = Path(__file__).with_name("strides.json")

ONE = """
x.exp(); x*2; x+1; -x; x.abs(); x.sigmoid(); x.tanh(); x.relu(); F.gelu(x); F.silu(x); F.elu(x); F.leaky_relu(x);
F.softplus(x); F.hardtanh(x); F.hardswish(x); F.logsigmoid(x); F.dropout(x,0.0); x.clamp(0,1); x.clone();
x.contiguous(); x.double(); x.half(); x.to(torch.int64); x.bool(); torch.empty_like(x); torch.zeros_like(x);
torch.ones_like(x); torch.rand_like(x); torch.full_like(x,2.); x.sqrt(); x.pow(2); x**0.5; x.round(); x.floor();
x.sin(); x.log(); x.erf(); x.lgamma(); x.detach(); x.sign(); x.reciprocal(); x.rsqrt(); x.square(); x>0; x==1;
x.isnan(); x.logical_not(); x.nan_to_num(); x.new_zeros(x.shape); x.clone(memory_format=torch.contiguous_format);
x.to(torch.float64,copy=True); x.type(torch.float64); x+1j; x.masked_fill(x>0,1.); torch.where(x>0,x,1.);
torch.bernoulli(x*0); x.frac(); x.expm1(); x.digamma(); x.angle(); torch.threshold(x,0.1,0.); x.cos().sin();
torch.logit(x.sigmoid()); torch.cumsum(x,0); x.cumprod(-1); x.cummax(0); x.logcumsumexp(0); x.flip(0);
x.flip(-1); x.roll(1,0); x.roll(1); x.tril() if x.dim()>1 else x; x.triu() if x.dim()>1 else x;
x.repeat(*([2]*x.dim())); x.tile(2); x.repeat_interleave(2,0); x.sort(0); x.sort(-1,descending=True);
x.argsort(0); x.topk(1,0) if x.size(0) else x; x.topk(1,-1) if x.size(-1) else x;
x.kthvalue(1,0) if x.size(0) else x; x.mode(0) if x.size(0) else x; x.median(0) if x.size(0) else x;
x.softmax(0); x.softmax(-1); x.log_softmax(-1); F.softmin(x,0); F.glu(x.repeat(*([2]*x.dim())),0);
F.normalize(x,dim=0); x.sum(0); x.sum(-1); x.sum(0,keepdim=True); x.sum((0,-1)) if x.dim()>1 else x; x.mean(0);
x.mean(-1,keepdim=True); x.var(0); x.std(-1); x.prod(0); x.prod(-1); x.amax(0) if x.size(0) else x;
x.amin(-1) if x.size(-1) else x; x.max(0) if x.size(0) else x; x.min(-1) if x.size(-1) else x;
x.argmax(0) if x.size(0) else x; x.norm(dim=0); x.norm(2,-1); x.logsumexp(0) if x.size(0) else x; x.any(0);
x.all(-1); x.nansum(0); x.aminmax(dim=0) if x.size(0) else x; torch.var_mean(x,0); x.count_nonzero(0);
x.unbind(0) if x.size(0) else x; x.split(1,-1) if x.size(-1) else x; x.chunk(2,0); x.flatten(); x.reshape(-1);
x.diff(dim=0); x.nonzero(); x.masked_select(x>0); x[x>0]; x[None]; x.unsqueeze(-1); x.squeeze();
torch.cat([x,x]); torch.cat([x,x],-1); torch.stack([x,x]); torch.stack([x,x],-1); torch.hstack([x,x]);
torch.vstack([x,x]); x[[0,0]] if x.size(0) else x; x[...,[0,0]] if x.size(-1) else x;
x[:,[0,0]] if x.dim()>1 and x.size(1) else x; x[[0,0],[0,0]] if x.dim()>1 and x.numel() else x;
x[[0,0],...,[0,0]] if x.dim()>1 and x.numel() else x; x[:, None][..., [0]] if x.size(-1) else x;
x.index_select(0,torch.zeros(2,dtype=torch.int64)) if x.size(0) else x;
x.index_select(-1,torch.zeros(2,dtype=torch.int64)) if x.size(-1) else x;
x.gather(0,torch.zeros_like(x,dtype=torch.int64)) if x.numel() else x;
x.take(torch.tensor([0])) if x.numel() else x; x.index_fill(0,torch.tensor([0]),1.) if x.size(0) else x;
x.scatter(0,torch.zeros_like(x,dtype=torch.int64),x) if x.numel() else x;
x.scatter_add(0,torch.zeros_like(x,dtype=torch.int64),x) if x.numel() else x;
x.index_add(0,torch.tensor([0]),x[:1]) if x.size(0) else x;
x.index_copy(0,torch.tensor([0]),x[:1]) if x.size(0) else x;
x.index_put((torch.tensor([0]),),x[0]) if x.size(0) else x; F.pad(x,(1,1)); F.pad(x,(1,0)*min(2,x.dim()));
F.pad(x,(-1,1)) if x.size(-1)>1 else x; x.to(torch.complex128).conj().resolve_conj(); torch.complex(x,x);
x.diag_embed(); x.rot90() if x.dim()>1 else x; x.add_(1); x.mul_(x); x.neg_().exp_();
torch.fft.fft(x) if x.numel() else x; torch.fft.rfft(x,dim=0) if x.numel() else x;
x.renorm(2,0,1.) if x.dim()>1 else x; torch.kron(x,x) if x.dim()<4 else x;
torch.multinomial(x.abs()+1,2,True) if x.dim()<3 and x.numel() else x; torch.unique(x);
torch.bucketize(x,torch.tensor([0.,1.],dtype=x.dtype));
torch.searchsorted(torch.tensor([0.,1.],dtype=x.dtype),x); x.unfold(0,1,1) if x.size(0) else x; x.movedim(0,-1);
x.expand_as(x); x.swapaxes(0,-1)+1; F.one_hot(x.to(torch.int64).abs(),50);
F.embedding(x.to(torch.int64).abs()%3, torch.ones(3,2,dtype=x.dtype)); torch.heaviside(x,x);
x.cov() if x.dim()==2 and x.numel() else x; x.quantile(0.5,0) if x.size(0) else x;
x.trace() if x.dim()==2 else x; F.layer_norm(x,x.shape[-1:]) if x.numel() else x;
F.rms_norm(x,x.shape[-1:]) if x.numel() else x; x.logical_and(x>0);
x.histc(2) if x.dtype.is_floating_point else x; torch.cdist(x,x) if x.dim() in (2,3) else x;
F.mse_loss(x,x,reduction='none'); F.smooth_l1_loss(x,x*2,reduction='none');
F.binary_cross_entropy(x.sigmoid(),x.sigmoid().detach(),reduction='none');
F.binary_cross_entropy_with_logits(x,x.detach(),reduction='none'); F.kl_div(x,x.detach(),reduction='none');
F.huber_loss(x,x*2,reduction='none')
"""

TWO = """
x+y; x*y; x-y; x/y; x.add(y,alpha=2); torch.maximum(x,y); torch.where(x>y,x,y); torch.where(y>0,x,y); x.pow(y);
torch.atan2(x,y); x>y; x==y; torch.lerp(x,y,0.3); torch.lerp(x,y,y); torch.addcmul(x,x,y); torch.addcmul(x,y,y);
torch.addcdiv(y,x,y); x.masked_fill(y>0,1.); torch.hypot(x,y); x.fmod(y); x.remainder(y); x//y;
torch.logaddexp(x,y); torch.clamp(x,y,y+1); x.copysign(y); x.xlogy(y); torch.logical_or(x,y); torch.complex(x,y);
F.mse_loss(x,y,reduction='none'); x*1+y*1; (x+y).exp(); torch.broadcast_tensors(x,y);
torch.add(x,y,out=torch.empty(0,dtype=x.dtype)); torch.stack(torch.broadcast_tensors(x,y));
torch.cat(torch.broadcast_tensors(x,y),0); torch.cat(torch.broadcast_tensors(x,y),-1); x.double()+y.float();
x.to(torch.int64)*y; x+y.to(torch.int64); y.mul(x).add(x)
"""

IMAGES = """
F.conv2d(x,w); F.conv2d(x,w.contiguous(memory_format=torch.channels_last)); F.conv2d(x,w,padding=1,stride=2);
F.conv_transpose2d(x,w.transpose(0,1)); F.max_pool2d(x,2,1); F.max_pool2d(x,2,1,return_indices=True);
F.avg_pool2d(x,2,1); F.adaptive_avg_pool2d(x,1); F.adaptive_avg_pool2d(x,2); F.adaptive_max_pool2d(x,2);
F.interpolate(x,scale_factor=2); F.interpolate(x,scale_factor=2,mode='bilinear');
F.interpolate(x,scale_factor=2,mode='bicubic'); F.interpolate(x,size=(2,2),mode='area');
F.interpolate(x,scale_factor=2,mode='nearest-exact'); F.batch_norm(x,None,None,training=True);
F.batch_norm(x,torch.zeros(x.size(1),dtype=x.dtype),torch.ones(x.size(1),dtype=x.dtype)); F.instance_norm(x);
F.group_norm(x,1); F.layer_norm(x,x.shape[1:]); F.pad(x,(1,1,1,1)); F.pad(x,(1,1,1,1),mode='reflect');
F.pad(x,(1,1,1,1),mode='replicate'); F.pad(x,(1,1,1,1),mode='circular'); F.pixel_shuffle(x.repeat(1,4,1,1),2);
F.pixel_unshuffle(x.repeat(1,1,2,2),2); F.channel_shuffle(x.repeat(1,2,1,1),2); F.unfold(x,2);
F.lp_pool2d(x,2,2); F.local_response_norm(x,2); F.dropout2d(x,0.0);
F.cross_entropy(x,torch.zeros(x.size(0),x.size(2),x.size(3),dtype=torch.int64),reduction='none');
F.nll_loss(x,torch.zeros(x.size(0),x.size(2),x.size(3),dtype=torch.int64),reduction='none'); F.softmax(x,1);
F.log_softmax(x,1); F.softmax(x,-1); F.grid_sample(x,torch.zeros(x.size(0),2,2,2,dtype=x.dtype));
x.contiguous(memory_format=torch.channels_last); x.to(memory_format=torch.channels_last);
x.to(memory_format=torch.contiguous_format); x.clone(memory_format=torch.channels_last);
torch.empty_like(x,memory_format=torch.channels_last); x.mean((2,3)); x.mean((2,3),keepdim=True); x.sum(1);
x.sum(1,keepdim=True); x.amax((2,3)); x.max(1); x.argmax(1); x*torch.ones(x.size(1),1,1,dtype=x.dtype);
x+torch.ones(1,x.size(1),1,1,dtype=x.dtype); x+x.contiguous(); x.contiguous()+x;
x+x.contiguous(memory_format=torch.channels_last);
x.contiguous(memory_format=torch.channels_last)+x.contiguous(); torch.cat([x,x],1);
torch.cat([x,x.contiguous()],1); torch.cat([x.contiguous(),x.contiguous(memory_format=torch.channels_last)],1);
torch.stack([x,x]); torch.stack([x,x],1); x[0]; x[:,0]; x[:,:1]*2;
x.view(x.size(0),-1) if x.is_contiguous() else x.reshape(x.size(0),-1); x.flatten(1);
x.permute(0,2,3,1).contiguous(); x.permute(0,2,3,1)+1; F.relu6(x);
F.prelu(x,torch.ones(x.size(1),dtype=x.dtype)); F.gelu(x,approximate='tanh');
F.fold(x.flatten(1).reshape(1,-1,1)[:, :4],(2,2),(2,2)); x.cumsum(1); x.sort(1); x.topk(1,1);
F.fractional_max_pool2d(x,2,output_size=1); F.interpolate(x,scale_factor=0.5);
F.conv2d(x.contiguous(),w.contiguous(memory_format=torch.channels_last)); F.conv2d(x[:1],w,groups=1,dilation=1);
F.conv2d(x,torch.ones(x.size(1),1,1,1,dtype=x.dtype),groups=x.size(1));
F.max_unpool2d(*F.max_pool2d(x,2,return_indices=True),2)
"""

VOLUMES = """
F.conv3d(x,w); F.max_pool3d(x,2,1); F.avg_pool3d(x,2,1); F.adaptive_avg_pool3d(x,1); F.adaptive_avg_pool3d(x,2);
F.adaptive_max_pool3d(x,2); F.interpolate(x,scale_factor=2); F.interpolate(x,scale_factor=2,mode='trilinear');
F.batch_norm(x,None,None,training=True); F.instance_norm(x); F.group_norm(x,1); F.pad(x,(1,1,1,1,1,1));
F.pad(x,(1,)*6,mode='reflect'); F.pad(x,(1,)*6,mode='replicate'); F.softmax(x,1);
x.contiguous(memory_format=torch.channels_last_3d); x*torch.ones(x.size(1),1,1,1,dtype=x.dtype); x.sum(1);
x.mean((2,3,4),keepdim=True); F.dropout3d(x,0.0); torch.cat([x,x],1)
"""

PRODUCTS = """
x@y; torch.matmul(x,y); x.mm(y) if x.dim()==2 and y.dim()==2 else x;
torch.bmm(x,y) if x.dim()==3 and y.dim()==3 else x;
torch.addmm(torch.zeros(x.size(0),y.size(1),dtype=x.dtype),x,y) if x.dim()==2 and y.dim()==2 else x;
F.linear(x,y.mT if y.dim()==2 else y[0].mT);
F.linear(x,(y if y.dim()==2 else y[0]).mT.contiguous(),torch.zeros(y.size(-1),dtype=x.dtype));
torch.einsum('...ij,...jk->...ik',x,y); torch.einsum('...ij,...jk->...ki',x,y); torch.tensordot(x,y,([-1],[-2]));
x.mv(y[:,0]) if x.dim()==2 and y.dim()==2 else x; torch.outer(x.flatten(),y.flatten());
torch.baddbmm(torch.zeros(x.size(0),x.size(1),y.size(2),dtype=x.dtype),x,y) if x.dim()==3 and y.dim()==3 else x;
(x@y).mT; torch.linalg.multi_dot([x,y,y.mT]) if x.dim()==2 and y.dim()==2 else x; torch.kron(x,y);
torch.inner(x,y.mT if y.dim()==2 else x)
"""

MATRICES = """
torch.linalg.inv(x); torch.linalg.det(x); torch.linalg.cholesky(x@x.mT+3*torch.eye(x.size(-1),dtype=x.dtype));
torch.linalg.qr(x); torch.linalg.svd(x); torch.linalg.svd(x,full_matrices=False); torch.linalg.eigh(x+x.mT);
torch.linalg.solve(x,x); torch.linalg.solve(x,x[...,0]); torch.linalg.lu_factor(x); torch.linalg.lu(x);
torch.linalg.pinv(x); torch.linalg.matrix_power(x,3); torch.linalg.solve_triangular(x,x,upper=True);
torch.linalg.eig(x); torch.linalg.eigvalsh(x+x.mT); torch.linalg.svdvals(x); torch.linalg.matrix_exp(x);
torch.linalg.slogdet(x); torch.linalg.norm(x,dim=-1);
torch.linalg.cross(x[...,:3],x[...,:3]) if x.size(-1)>2 else x; torch.linalg.lstsq(x,x).solution;
torch.cholesky_inverse(x@x.mT+3*torch.eye(x.size(-1),dtype=x.dtype)); torch.linalg.matrix_norm(x);
torch.linalg.vander(x[...,0]); torch.cholesky_solve(x,x@x.mT+torch.eye(x.size(-1),dtype=x.dtype));
torch.linalg.ldl_factor(x+x.mT); torch.linalg.householder_product(x,x[...,0]); torch.triangular_solve(x,x)
"""

CASES = 4


def split(text):
    return [code.strip() for line in text.strip().splitlines() for code in line.rstrip(";").split("; ")]


def shapes(kind, choose):
    """The shapes of the arguments of one case."""
    some = lambda *sizes: choose.choice(sizes)  # noqa: E731
    if kind == "images":
        x = [some(1, 2), some(2, 3), some(2, 3, 4), some(2, 3)]
        return {"x": x, "w": [some(1, 2), x[1], some(1, 2), some(1, 2)]}
    if kind == "volumes":
        x = [some(1, 2), some(2, 3), 2, some(2, 3), 2]
        return {"x": x, "w": [some(1, 2), x[1], 1, 2, 1]}
    if kind == "products":
        lead, (n, k, m) = ([2] if choose.random() < 0.5 else []), (some(1, 2, 3) for _ in range(3))
        return {"x": [*lead, n, k], "y": [*lead, k, m]}
    if kind == "matrices":
        n = some(1, 2, 3)
        return {"x": [*some([], [2]), n, n]}
    x = [some(1, 2, 3) for _ in range(some(1, 2, 3, 4))]
    if kind == "one":
        return {"x": x}
    return {"x": x, "y": [n if choose.random() < 0.7 else 1 for n in x]}


WAYS = ("contiguous", "permuted", "permuted", "gaps", "expanded")


def layout(shape, ways, choose):
    """Return how an argument is made: the order of its dimensions in memory, and what else is done to it."""
    ways = [*ways, *["channels last"] * (4 if len(shape) in (4, 5) else 0)]
    return [choose.choice(ways), choose.sample(range(len(shape)), len(shape)), choose.randrange(len(shape))]


def make(torch, shape, how, grad):
    """The argument."""
    way, order, position = how
    memory = list(shape)
    if way == "permuted":
        memory = [shape[d] for d in order]
    elif way == "gaps":
        memory[position] *= 2
    elif way == "expanded":
        memory[position] = 1
    numbers = [1 + 0.25 * math.sin(7 * i) for i in range(math.prod(memory))]
    t = torch.tensor(numbers, dtype=torch.float32).view(memory)
    if way == "permuted":
        t = t.permute([order.index(d) for d in range(len(shape))])
    elif way == "gaps":
        t = t[(slice(None),) * position + (slice(None, None, 2),)]
    elif way == "expanded":
        t = t.expand(shape)
    elif way == "channels last":
        t = t.contiguous(memory_format=torch.channels_last if len(shape) == 4 else torch.channels_last_3d)
    return t.requires_grad_(grad)


def cases():
    """(expression, [the shapes and layouts of its arguments])"""
    groups = {"one": ONE, "two": TWO, "images": IMAGES, "volumes": VOLUMES, "products": PRODUCTS, "matrices": MATRICES}
    for kind, text in groups.items():
        for code in split(text):
            choose = random.Random(code)
            given = [shapes(kind, choose) for _ in range(CASES)]
            ways = ("contiguous", "permuted", "gaps") if kind == "matrices" else WAYS  # an expanded matrix is singular
            yield code, [{name: (shape, layout(shape, ways, choose)) for name, shape in each.items()} for each in given]


def tensors(torch, value):
    if isinstance(value, torch.Tensor):
        return [value]
    return [t for part in value for t in tensors(torch, part)] if isinstance(value, (tuple, list)) else []


def told(tensor):
    """Shape and strides; a dash for what a dimension of one element has."""
    return [list(tensor.shape), [s if n > 1 else "-" for n, s in zip(tensor.shape, tensor.stride(), strict=True)]]


def observe(torch, code, arguments):
    """Return how the results are laid out, and the gradients of the arguments."""
    scope = {"torch": torch, "F": torch.nn.functional}

    def run(grad):
        scope.update({name: make(torch, shape, how, grad) for name, (shape, how) in arguments.items()})
        return tensors(torch, eval(code, scope))

    found = {"results": [told(t) for t in run(False)]}
    if "_(" not in code and "out=" not in code:
        roots = [t for t in run(True) if t.requires_grad]
        torch.autograd.backward(roots, [torch.ones_like(t) for t in roots])
        grads = {name: scope[name].grad for name in arguments}
        found["gradients"] = {name: None if grad is None else told(grad)[1] for name, grad in grads.items()}
    return found


def main():
    import torch

    warnings.simplefilter("ignore")
    found = {}
    for code, given in cases():
        rows = []
        for arguments in given:
            try:
                rows.append([arguments, observe(torch, code, arguments)])
            except (RuntimeError, IndexError, ValueError):
                continue  # what PyTorch refuses, or cannot differentiate
        if rows:
            found[code] = rows
    lines = (f"{json.dumps(code)}: {json.dumps(rows, separators=(',', ':'))}" for code, rows in found.items())
    EXPECTED.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{sum(map(len, found.values()))} cases of {len(found)} expressions")


if __name__ == "__main__":
    main()

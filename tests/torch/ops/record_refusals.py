"""Records with real PyTorch what it says of wrong calls, into refusals.json: `python tests/torch/ops/record_refusals.py`.

Each line calls one function wrongly in several ways; `x`, `y`, ... are the tensors of `scope`.
"""

import json
import re
import warnings
from pathlib import Path

EXPECTED = Path(__file__).with_name("refusals.json")

CALLS = """
torch.relu(x, 1); torch.relu(x, foo=1); torch.relu([1.0]); torch.relu("a"); torch.relu(None); torch.relu(A)
torch.add(x, "a"); torch.add(x, x, foo=1); torch.add(x, None); torch.add(x, [1])
torch.mul(x, "a"); torch.atan2(x, 1); torch.maximum(x, 2.0); torch.matmul(x, [1]); torch.matmul(x, A); torch.mm(x, 3)
torch.argmax(x[:0]); torch.argmin(x[:0]); torch.argmax(x[:0], 0); torch.argmin(x[:0], -x.ndim, True); x.repeat(*[-2] * x.ndim); x.repeat(2, *[-1] * x.ndim)
torch.sum(); torch.sum("a"); torch.sum(x, "a"); torch.sum(x, dim="a"); torch.sum(x, 1, True, 3); x.sum("a")
torch.sum(x, dim="a", keepdim=3); torch.mean(x, foo=1); x.mean("a"); torch.std(x, "a", [1])
torch.max(x, "a"); torch.argmax(x, "a"); torch.argmax(x, dim=1.5); torch.cumsum(x); torch.cumsum(x, "a"); x.cumsum(True)
torch.zeros(); torch.zeros("a"); torch.zeros(2, "a"); torch.zeros(2, dtype=3); torch.zeros(1.5); torch.zeros((2, 3), foo=1)
torch.full(); torch.full((2,)); torch.full((2,), "a"); torch.full(3, 1.0); torch.arange(); torch.arange("a"); torch.arange(0, 5, "a")
torch.linspace(0, 1); torch.linspace(0, 1, "a"); torch.eye(); torch.eye("a"); torch.eye(2.5); torch.ones_like(3); torch.zeros_like("a")
torch.randn("a"); torch.randn(2, dtype=3); torch.randint("a", (2,)); torch.randperm("a"); torch.rand(2, device="foo")
torch.tensor(); torch.tensor([1], dtype="float32"); torch.tensor([1], foo=1); torch.from_numpy([1]); torch.as_tensor()
torch.reshape(x); torch.reshape(x, "a"); x.reshape("a"); x.view("a"); x.view(1.5); x.view(); x.permute(0, "a"); x.permute("a", 1); x.permute(1.0)
x.transpose(0); x.transpose("a", 1); x.transpose(0, 1, 2); x.unsqueeze(); x.unsqueeze("a"); x.squeeze("a")
x.expand("a"); x.expand(); x.repeat(); x.flatten("a"); torch.flip(x, "a"); torch.flip(x); torch.roll(x, "a"); x.t(1); x.t(foo=1)
torch.cat(); torch.cat(x); torch.cat([x, 1]); torch.cat([x, y], dim="a"); torch.cat(5); torch.stack(x); torch.stack([x, "a"]); torch.stack([1])
torch.cat(z for z in [x]); torch.stack(map(abs, [x])); torch.vstack({1: x}.values())
torch.split(x, 1, 0, 3); torch.chunk(x, "a"); torch.chunk(x); x.chunk(1.5); torch.unbind(x, "a"); torch.where(c, "a", x); torch.where()
torch.gather(x, 0); torch.gather(x, 0, 1); torch.index_select(x, 0); torch.index_select(x, "a", i); x.scatter_(0, i); x.masked_fill(c)
x.masked_fill(c, "a"); torch.masked_select(x, 1); torch.topk(x, "a"); torch.topk(x); torch.sort(x, 1, "a", 3); torch.sort(x, foo=1)
torch.clamp(x, "a"); torch.clamp(x, "a", foo=1); x.clamp(foo=1); torch.pow(x, "a"); torch.lerp(x, x); torch.addmm(x, x, "a")
torch.addmm(x, x, x, alpha=None); torch.einsum(); torch.bmm(x, "a"); torch.outer(v, 1); torch.dot(v, "a"); torch.cross(x, 1)
torch.softmax(x); torch.softmax(x, 1, foo=1); torch.softmax(x, "a"); torch.log_softmax(x, None); torch.nn.functional.softmax(x, "a")
torch.linalg.inv(1); torch.linalg.inv(); torch.linalg.inv(x, x); torch.linalg.solve(x); torch.linalg.norm("a"); torch.linalg.det(x, 1)
torch.linalg.svd(x, "a"); torch.linalg.eigh(x, 3); torch.linalg.matrix_power(x, "a"); torch.linalg.cross(x, 1); torch.linalg.qr(x, 5)
torch.fft.fft(); torch.fft.fft(x, foo=1); torch.fft.fft(1.5); torch.fft.fft(x, "a"); torch.fft.fft2(x, "a"); torch.fft.fftshift(3)
torch.special.zeta("a", "b")
torch.nn.functional.linear(); torch.nn.functional.linear(x); torch.nn.functional.linear(x, 1); torch.nn.functional.linear(x, x, 1)
torch.nn.functional.conv2d(1, x); torch.nn.functional.conv2d(x); torch.nn.functional.conv1d(x, "a"); torch.nn.functional.gelu(1)
torch.nn.functional.gelu(x, approximate=1); torch.nn.functional.dropout(1.0); torch.nn.functional.elu(1)
torch.nn.functional.leaky_relu(x, "a"); torch.nn.functional.layer_norm(x, "a"); torch.nn.functional.layer_norm(1, (2,))
torch.nn.functional.batch_norm(x, 1, 2); torch.nn.functional.embedding(1, x); torch.nn.functional.embedding(i, 2)
torch.nn.functional.cross_entropy(x, 1); torch.nn.functional.cross_entropy("a", i); torch.nn.functional.nll_loss(x, [1])
torch.nn.functional.max_pool2d(x, "a"); torch.nn.functional.avg_pool2d(x, "a"); torch.nn.functional.one_hot(1)
torch.nn.functional.scaled_dot_product_attention(x, 1, x); torch.nn.functional.glu(x, "a"); torch.nn.functional.softplus("a")
x.sin(1); x.sin(x=1); x.sin(out=x); x.exp(dim=1); x.relu(1); x.numel(1); x.contiguous(1); x.retain_grad(1); x.detach_(1); x.data_ptr(1); torch.Tensor.sin(x, 1)
torch.Tensor.sum(3); torch.Tensor.sum(); torch.Tensor.view([1], 1); x.abs_(1); x.add_(); x.add_("a"); x.mul_("a"); x.zero_(1)
x.fill_("a"); x.copy_("a"); x.clamp_("a"); x.numpy(1); x.size("a"); x.to("a"); x.to(dtype="a")
x.type("a"); x.float(1); x.requires_grad_("a"); x.new_zeros("a"); x.new_full((2,), "a"); x.index_add_(0, i); x.select("a", 0); x.narrow(0, 1)
torch.bitwise_and(2, 3); torch.bitwise_or(2, 3); torch.bitwise_xor(True, 1); torch.bitwise_left_shift(2, 3); torch.bitwise_right_shift(2, 3)
torch.device("foo"); torch.device("cuda:x"); torch.device(1.5); torch.device()
""".strip()

DTYPES = """
torch.softmax(n,0); torch.softmax(n,1); torch.softmax(torch.tensor(1),0); torch.log_softmax(c,0); torch.log_softmax(n,1)
F.softmax(n,dim=1); torch.addmm(d[0,:2],x,x.t()); torch.addmm(n[0,:2],x,x.t()); torch.mm(x,d.t()); torch.matmul(n,x.t())
torch.bmm(x[None],d.t()[None]); torch.addmv(d[:,0],x,x[0]); torch.mv(x,d[0]); torch.dot(x[0],d[0]); F.linear(d,x); F.linear(x,x,d[0,:2])
F.linear(n,x); F.linear(x[None],x,d[0,:2]); torch.baddbmm(d[None,:,:2],x[None],x.t()[None]); torch.addbmm(d[:,:2],x[None],x.t()[None])
torch.baddbmm(x[None,:,:2],x[None],d.t()[None]); torch.addbmm(x[:,:2],x[None],d.t()[None]); x@d.t(); x@n.t(); x@z.t(); torch.sort(z)
torch.argsort(z); torch.topk(z,1); torch.maximum(z,x); torch.minimum(z,x); torch.fmax(z,x); torch.clamp(z,0); torch.clamp_min(z,0)
torch.max(z); torch.max(z,1); torch.argmax(z); torch.lt(z,x); torch.floor(z); torch.argmax(c); torch.cummax(z,0); torch.neg(c)
torch.abs(c); torch.sign(z); torch.ceil(c); torch.round(c); torch.round(n,decimals=1); torch.dot(c[0],c[0]); torch.cummin(z,0)
torch.kthvalue(z,1); torch.mode(z); torch.unique(z); torch.bincount(x[0]); torch.ceil(z); torch.trunc(z); torch.fmod(z,x)
torch.remainder(z,x); torch.sub(x,c); x-c; c-c; ~x; x&x; n<<x; torch.bitwise_and(x,x); torch.logical_and(x,"a"); torch.gcd(x,x)
torch.atan2(z,x); torch.hypot(z,x); F.gelu(n); F.elu(n); F.leaky_relu(n); F.silu(n); F.softplus(n); F.mse_loss(n,n); F.l1_loss(n,n)
F.layer_norm(n,(3,)); F.dropout(n); F.logsigmoid(n); F.cross_entropy(x,torch.tensor([1.,0.]))
F.cross_entropy(x,torch.tensor([1,0],dtype=torch.int32)); F.cross_entropy(n,i); F.binary_cross_entropy(x,n)
F.binary_cross_entropy_with_logits(x,n); F.binary_cross_entropy(x/9,x[0]); F.embedding(x,x); F.one_hot(x)
F.conv2d(x[None].long(),x[None,None]); F.batch_norm(n,None,None,training=True); F.nll_loss(n,i); F.nll_loss(x,i.int())
F.nll_loss(x,x[:,0]); F.mish(n); F.selu(n); F.celu(n); F.hardswish(n); F.hardsigmoid(n); F.softshrink(n); F.hardshrink(n); F.glu(n[:,:2])
F.prelu(x,d[0,:1]); F.group_norm(n[None],1); F.rms_norm(n,(3,)); F.rrelu(n); F.kl_div(n,n); F.smooth_l1_loss(n,n); F.huber_loss(n,n)
F.normalize(n); F.cosine_similarity(n,n); torch.std(n); torch.linalg.norm(n); n.norm(); torch.var(c); torch.linalg.inv(n[:,:2])
torch.cdist(n,n); torch.multinomial(n,1); torch.bernoulli(n); torch.normal(n,x); torch.lerp(x,d,0.5); torch.cdist(x,d)
torch.quantile(n,0.5); torch.nanmean(n); torch.mean(c); torch.mean(n); torch.median(c); torch.cross(x,d); torch.index_select(x,0,x[0])
torch.index_select(x,0,i.to(torch.uint8)); torch.gather(x,0,x); torch.take(x,x); x[x]; x.index_add(0,x[0,:2],x); x.index_fill(0,x[0],1)
x.index_copy(0,x[0,:2],x); x.masked_fill(x,1); x.masked_fill(n,1); torch.masked_select(x,n); torch.where(x,x,x); x.index_copy(0,i,d)
x.index_add(0,i,d); x.put_(x,x); x.scatter(0,x,x); x.scatter(0,n.clamp(0,1),d)
F.grid_sample(x[None,None],d[None,:,:2,None].expand(1,2,2,2)); torch.tensordot(x,d,2); torch.einsum("ij,ij",x,d); torch.add(n,n,alpha=1.5)
torch.add(c,c,alpha=1.5); n.add_(1.5); n.mul_(x); n.div_(2); c.add_(1); n.sqrt_(); torch.arange(0,1,0.5,dtype=torch.long)
torch.rand(2,dtype=torch.long); torch.randn(2,dtype=torch.long); n.requires_grad_(); torch.zeros(2,dtype=torch.long,requires_grad=True)
n.backward(); x.backward(); x.sum().backward(); n.uniform_(); n.normal_(); n.exponential_(); torch.fft.rfft(z); torch.fft.fft(x.half())
torch.view_as_real(x); torch.view_as_complex(x); torch.view_as_complex(n[:,:2]); torch.complex(n,n); torch.complex(x,d); torch.polar(n,n)
torch.imag(x); torch.frac(n); torch.trace(c); torch.linalg.matrix_norm(n); torch.linalg.det(n[:,:2]); torch.linalg.solve(x[:,:2],d)
torch.linalg.cross(x,d); torch.linalg.vecdot(x,d); torch.inner(x,d); torch.vdot(x[0],d[0]); torch.chain_matmul(x,d.t())
torch.linalg.multi_dot([x,d.t()]); torch.cov(c).dtype
torch.mm(c,c.t()); c@c.t(); torch.matmul(c[None],c.t()[None]); torch.bmm(c[None],c.t()[None]); torch.relu(z); F.relu(z); F.relu6(z)
z.relu_(); torch.relu(z[0,0]); x.split(0); torch.full((1,),1e300); torch.zeros(2,requires_grad=1); torch.special.erfcx(x.half())
torch.special.zeta(x.half(),x.half()); F.avg_pool2d(c[None,None],1); F.adaptive_max_pool2d(n[None,None],1); torch.split(x,(-1,3))
torch.cholesky_solve(x[:,:2],d[:,:2]); torch.norm(x,1,True); torch.unique(x,1); F.interpolate(x[None],scale_factor="a")
torch.bernoulli(z); F.embedding(z,x); torch.floor(z); torch.sort(z); torch.topk(z,1); torch.erf(z); torch.cummax(z,0)
torch.atan2(z,z); torch.heaviside(z,z); torch.maximum(z,z); torch.argmax(z); torch.clamp(z,0); torch.trunc(z); z<1
""".strip()
"""Calls with tensors of dtypes that the function does not take, or that do not go together."""


def calls():
    """Every call."""
    return [call.strip() for line in [*CALLS.splitlines(), *DTYPES.splitlines()] for call in line.split("; ")]


def scope(torch):
    """The names that calls use."""
    import numpy as np

    x = torch.arange(6.0).reshape(2, 3)
    return {
        "torch": torch,
        "F": torch.nn.functional,
        "x": x,
        "y": x + 1,
        "v": torch.arange(3.0),
        "c": x > 2,
        "n": x.long(),
        "d": x.double(),
        "z": torch.complex(x, x),
        "i": torch.tensor([0, 1]),
        "A": np.ones((2, 3)),
    }


def first_sentence(text):
    """Up to the first end of a line, without what is said of single signatures."""
    return text.partition("\n")[0].strip()


def observe(torch, call):
    """The type and the first line of the error of a call."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            eval(call, scope(torch))
    except Exception as error:
        return f"{re.sub('^_', '', type(error).__name__)}: {first_sentence(str(error))}"
    return "nothing raised"


def main():
    import torch

    found = {call: observe(torch, call) for call in calls()}
    taken = [call for call, said in found.items() if said == "nothing raised"]
    if taken:
        raise SystemExit(f"PyTorch takes: {'; '.join(taken)}")
    EXPECTED.write_text(json.dumps(found, indent=0) + "\n")
    print(f"{len(found)} calls")


if __name__ == "__main__":
    main()

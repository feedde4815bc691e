"""Records with real PyTorch what nodes show of what they saved, into saved.json: `python -m tests.torch.core.tape.record_saved`.

For each expression the attributes `_saved_*` of the first node of each kind, before and after a pass that frees the graph; kept is
what no expression before it has shown. `observe` asks any engine; test_saved_attributes.py asks ours.
"""

import warnings
from pathlib import Path

from tests.torch.ops.record_expressions import cases, evaluate
from tests.torch.ops.record_more_expressions import CASES as MORE_EXPRESSIONS
from tests.torch.recording import written

EXPECTED = Path(__file__).with_name("saved.json")

IMAGES = """
F.conv2d(b[None],b[:1,None].expand(1,2,3,2))
F.conv2d(b[None],b[:1,None].expand(1,2,3,2),s.view(1),stride=2,padding=1)
F.conv_transpose2d(b[None],b[:,None])
F.max_pool2d(b[None],2)
F.max_pool2d(b[None],(2,1),1,padding=(1,0))
F.max_pool1d(x,2)
F.adaptive_max_pool2d(b[None],1)
F.avg_pool2d(b[None],(2,2),(1,1))
F.avg_pool1d(x,2)
F.adaptive_avg_pool2d(b[None],2)
F.interpolate(b[None],scale_factor=2)
F.interpolate(b[None],size=(4,4),mode='bilinear')
F.interpolate(x[None],scale_factor=2,mode='linear')
F.interpolate(b[None],scale_factor=(2,3),mode='bicubic',align_corners=True)
F.interpolate(b[None,None],scale_factor=2,mode='trilinear')
F.unfold(b[None],2)
F.pad(x,(1,-1))
F.pad(b,(1,1),mode='replicate')
F.pad(b,(1,1),mode='reflect')
F.embedding(j,x,padding_idx=-1)
F.embedding(j,x)
F.batch_norm(b,w,w,training=True)
F.batch_norm(x,w.detach(),w.detach()*w.detach(),training=True)
F.batch_norm(x,w.detach(),w.detach()*w.detach(),w)
F.layer_norm(x,(3,),w,w)
F.group_norm(b,3,w)
F.ctc_loss(b.log_softmax(2),torch.tensor([[1],[1],[1]]),torch.tensor([2,2,2]),torch.tensor([1,1,1]))
F.nll_loss(x,j[:,0])
F.cross_entropy(x,j[:,0],label_smoothing=0.1)
F.binary_cross_entropy_with_logits(x,m.double(),weight=w)
F.bilinear(x,x,b.transpose(0,1)[:, :1].expand(3,3,2).transpose(1,2)[:, :1].expand(3,3,3))
F.scaled_dot_product_attention(b,b,b)
F.relu6(x)
F.hardtanh(x)
F.gelu(x,approximate='tanh')
F.normalize(x)
F.cosine_similarity(x,x*2,dim=-1)
F.pairwise_distance(x,w)
F.max_unpool1d(*F.max_pool1d(x,2,return_indices=True),2)
x.softmax(-1)
x.transpose(-2,-1)
x[-1,-2:]
x[1:,:-1]
x.select(-1,-1)
x.sum(-1)
x.mean((-1,-2))
x.var(unbiased=True)
x.squeeze(-2)
x.mul(2.5)
x*0.1
x*True
x.div(3)
torch.mm(x.detach(),b[0].t().contiguous().t())
torch.mm(x,b[0].detach())
torch.addmm(w[:2],x.detach(),b[0])
x.expand(2,2,3).unbind(-3)[1]
x.gather(-1,j)
y = x*1; y[0,-1] = s; y
y = x*1; y.mul_(2); y
torch.gradient(x,spacing=2)[0]
torch.gradient(x,dim=-1,edge_order=2)[0]
torch.gradient(x,spacing=(torch.tensor([1.,3.,4.]),),dim=-1)[0]
torch.trapezoid(x)
torch.trapezoid(x,dx=2)
torch.cosine_similarity(s,s*2,dim=0)
torch.nn.functional.normalize(s,p=1.5,dim=0)
torch.linalg.cond(x[:,:2])
torch.linalg.cond(x[:,:2],-2)
torch.linalg.vander(s,N=3)
torch.nn.functional.pad(x[None,None],(1,2,1,0),mode='circular')
torch.nn.functional.conv2d(x[None,None],x[None,None,:,:2],padding='valid')
torch.nn.functional.conv1d(x[None],x[None],padding='valid')
torch.take_along_dim(x,torch.tensor([[-1],[-2]]),1)
torch.nn.functional.embedding_bag(torch.tensor([1,0,1]),x.double(),torch.tensor([0,2,2]),mode='sum')
torch.nn.functional.embedding_bag(torch.tensor([1,0,1]),x,torch.tensor([0,2,2]),mode='mean')
torch.nn.functional.embedding_bag(torch.tensor([1,0,1]),x,torch.tensor([0,2,2]),mode='max')
torch.nn.functional.nll_loss(w,torch.tensor(1),weight=w.detach(),reduction='none')
torch._native_batch_norm_legit(x,w,w,w.detach()*0,w.detach()**2,True,0.1,1e-5)[0]
x.to_sparse().to_dense()
y = x*1; y[m] = s; y
y = x*1; y[:,m[0]] = 2.; y
y = x*1; y[[True,False]] = w; y
y = x*1; y[torch.tensor([True,False]),torch.tensor([0])] = s; y
x[...,m[1]]
x[None,m]
""".strip().splitlines()

CODES = [*cases(), *MORE_EXPRESSIONS, *IMAGES]


def shown(value):
    """A value as text: numbers as they are, of a tensor its dtype, its shape and the sum of its elements."""
    if isinstance(value, (tuple, list)):
        return f"({', '.join(map(shown, value))}{',' if len(value) == 1 else ''})"
    if not hasattr(value, "requires_grad"):
        return f"{value:.9g}" + ".0" * value.is_integer() if isinstance(value, float) else repr(value)
    raw = value.detach().resolve_conj()
    number = value.item() if value.ndim == 0 else (raw.real if value.is_complex() else raw).double().sum().item()
    total = number.real if isinstance(number, complex) else number
    return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)} {round(float(total), 9) + 0.0:.3g}"


def read(node):
    """`name=value` of each attribute; an error as its first words."""
    found = []
    for name in dir(node):
        if name.startswith("_saved_"):
            try:
                found.append(f"{name[7:]}={shown(getattr(node, name))}")
            except RuntimeError as error:
                found.append(f"{name[7:]}! {str(error)[:40]}")
        elif name.startswith("_raw_saved_"):
            found.append(name)
    return found


def observe(torch, code):
    """The first node of each kind: what it shows, and what of that is different once the graph is freed."""
    _, value = evaluate(torch, code)
    value = value[0] if isinstance(value, tuple) else value
    if not value.requires_grad or value.grad_fn is None:
        return {}
    first, nodes = {}, [value.grad_fn]
    for node in nodes:
        first.setdefault(node.name().rpartition("::")[2], node)
        nodes += [target for target, _ in node.next_functions if target is not None and target not in nodes]
    before = {name: read(node) for name, node in first.items()}
    torch.autograd.backward(value, torch.ones_like(value))
    after = {name: read(node) for name, node in first.items()}
    return {
        name: "; ".join([*rows, *(f"freed {row}" for row in after[name] if row not in rows)])
        for name, rows in before.items()
    }


def main():
    import torch

    warnings.simplefilter("ignore")
    known, found = set(), {}
    for code in CODES:
        try:
            rows = {n: row for n, row in observe(torch, code).items() if row and (n, row) not in known}
        except (RuntimeError, NotImplementedError, IndexError) as error:
            print(code, error)
            continue
        known |= set(rows.items())
        if rows:
            found[code] = rows
    written(EXPECTED, found)
    print(f"{len(known)} nodes of {len({name for name, _ in known})} kinds in {len(found)} expressions")


if __name__ == "__main__":
    main()

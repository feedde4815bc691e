"""Records with real PyTorch what expressions give under autocast, into autocast.json.

`python -m tests.torch.amp.record_autocast` from the repository's root. The expressions are those of record_expressions.py and
record_functional.py on float32, and the ones below. Where autocast changes neither a dtype nor the graph nothing is kept of
an expression but its name.
"""

import json
import math
import re
import warnings
from pathlib import Path
from typing import Any

from tests.torch.amp.scenarios import SCENARIOS, names
from tests.torch.nn import record_functional
from tests.torch.ops import record_expressions
from tests.torch.ops.record_expressions import cotangent, graph

EXPECTED = Path(__file__).with_name("autocast.json")
NARROW = {"float64": "float32", "complex128": "complex64"}
LEAVES = {
    name: (values, NARROW.get(dtype, dtype), wanted)
    for name, (values, dtype, wanted) in record_expressions.LEAVES.items()
}

MORE = """
torch.cat([f, k]); torch.cat([k, k]); torch.cat([h, k]); torch.cat([f, f.double()]); torch.cat([k, k.double()]); torch.cat([i, k]); torch.cat([f, h])
torch.stack([f, k]); torch.stack([k, k]); torch.stack([h, h]); f@k; h@k; k@k; f@f.double(); torch.dot(f, f); torch.mv(x, w); f+k; k*2; k.sum(); k.exp(); k.softmax(0)
x.index_copy(0, torch.tensor([1]), x[:1].bfloat16()); x.bfloat16().index_copy(0, torch.tensor([0]), x[:1]); k.prod(); h.prod(); k.prod(0); f.prod()
F.linear(x, b[0].T); F.linear(x, b[0].T, w[:2]); F.linear(b.mT, x); F.linear(x, x.bfloat16()); F.linear(x, x.half(), w[:2]); F.linear(x, x.double())
F.linear(x, x, w[:2])+F.linear(x, x, w[:2]); x@x.T+x@x.T; F.linear(F.linear(x, x), x[:, :2]); x.T@(x@x.T).relu(); (x@x.T).softmax(1)@x; x@x.T@x
F.mse_loss(x@x.T, x[:, :2]); F.mse_loss(k, k); F.mse_loss(k, f); F.mse_loss(x.bfloat16(), w); F.smooth_l1_loss(x, k); F.huber_loss(k, x); F.l1_loss(x.bfloat16(), w); F.l1_loss(k, f); F.smooth_l1_loss(k, f); F.huber_loss(k, f); F.cross_entropy(x@x.T, torch.tensor([1, 0]))
F.cross_entropy(x.bfloat16(), torch.tensor([1, 0])); F.nll_loss(x.bfloat16().log_softmax(1), torch.tensor([1, 0])); F.nll_loss(b.bfloat16(), torch.tensor([[1, 0], [2, 1]]))
F.cross_entropy(b.bfloat16(), torch.tensor([[1, 0], [2, 1]])); F.cross_entropy(x.bfloat16(), x.detach().softmax(1)); F.kl_div(k, f, reduction='sum'); F.kl_div(k, k, log_target=True, reduction='batchmean')
F.binary_cross_entropy_with_logits(k, f.sigmoid()); F.binary_cross_entropy(k.sigmoid(), f.sigmoid().detach()); F.binary_cross_entropy(torch.sigmoid(x), m.float()); F.soft_margin_loss(k, f.detach().sign())
F.poisson_nll_loss(k, f); F.hinge_embedding_loss(k, f.detach().sign()); F.margin_ranking_loss(k, f, f.detach().sign()); F.cosine_embedding_loss(x.bfloat16(), x*w, torch.tensor([1.0, -1.0]))
F.triplet_margin_loss(x.bfloat16(), x*w, x); F.multi_margin_loss(x.bfloat16(), torch.tensor([1, 0])); F.multilabel_margin_loss(x.bfloat16(), torch.tensor([[1, 0, -1], [2, -1, 0]]))
F.gaussian_nll_loss(x.bfloat16(), x, x*x); F.multilabel_soft_margin_loss(x.bfloat16(), m.float()); F.layer_norm(x.bfloat16(), (3,)); F.layer_norm(x, (3,)); F.batch_norm(x.bfloat16(), None, None, training=True)
F.conv1d(x[None], b); F.conv1d(b, b[:, :, :1], x[0, :2]); F.conv2d(b[None], b[:, :, None].transpose(1, 0)[:, :2]); F.conv2d(b[None], b[:, None].expand(2, 2, 3, 2), padding='same')
F.conv_transpose1d(b, b[0][:, None]); F.conv_transpose2d(b[None], b[:, None]); F.conv3d(b[None, None], b[None, None, :1, :1]); F.conv_transpose3d(b[None, None], b[None, None, :1, :1])
F.prelu(x, s); F.prelu(x.bfloat16(), w); F.bilinear(x, x, b.mT[:, :, :, None].expand(2, 2, 3, 3)[:, 0][:, None].expand(2, 3, 3, 3)[:, 0]); F.scaled_dot_product_attention(b, b, b); F.scaled_dot_product_attention(b.bfloat16(), b, b.half())
torch.cdist(b, b); torch.cdist(b.bfloat16(), b); torch.linalg.inv(x@x.T); torch.linalg.inv(x.bfloat16()@x.T); torch.linalg.solve(x@x.T, x); torch.linalg.qr(k[:, None]); torch.linalg.svdvals(x.bfloat16())
torch.linalg.norm(x@x.T); torch.linalg.norm(x, 2); torch.linalg.matrix_norm(x, 'nuc'); torch.linalg.cond(x@x.T); torch.linalg.pinv(x); torch.pinverse(x.bfloat16()); torch.linalg.det(x@x.T); (x.bfloat16()*w).trace()
torch.linalg.eigh((x@x.T).float()+torch.eye(2)); torch.linalg.cholesky(x@x.T+torch.eye(2)*3); torch.linalg.vecdot(x, x); torch.linalg.multi_dot([x, x.T, x]); torch.linalg.matrix_power(x@x.T, 3); torch.linalg.matrix_exp(x[:, :2])
torch.fft.fft(k); torch.fft.rfft(x.bfloat16()); torch.fft.fftshift(k); torch.polar(k.abs(), f); torch.view_as_complex(torch.stack([k, k], 1)); torch.trace(x[:, :2].bfloat16()); k.quantile(0.3); k.nanquantile(0.6); torch.tensordot(x, x, 2)
torch.einsum('ij,kj->ik', x, x); torch.einsum('bij,bjk->bik', b, b.mT); torch.einsum('ij->j', x); torch.kron(x, x); torch.inner(x, x); torch.outer(w, w); torch.cov(x); torch.corrcoef(x); torch.chain_matmul(x, x.T, x); torch.addmm(s, x, x.T)
torch.addmv(w[:2], x, w); torch.baddbmm(b, b@b.mT, b); torch.addbmm(b[0], b@b.mT, b); torch.bmm(b, b.mT); torch.mm(x, x.T); b.matmul(b.mT); x.matmul(w); w.matmul(w); w@b; b.mT@w; x.T.mm(x)
F.avg_pool3d(b[None, None].bfloat16(), 2); F.max_pool3d(b[None, None].bfloat16(), 2); F.avg_pool2d(b[None].bfloat16(), 2); F.max_pool2d(b[None].bfloat16(), 2); F.adaptive_avg_pool3d(b[None].bfloat16(), 1); F.adaptive_max_pool3d(b[None].bfloat16(), 1)
F.adaptive_avg_pool2d(b.bfloat16(), 1); F.pad(b.bfloat16(), (1, 1), mode='reflect'); F.pad(b.bfloat16(), (1, 1), mode='replicate'); F.pad(b.bfloat16(), (1, 1), mode='circular'); F.pad(k, (1, 1)); F.pad(b[None].bfloat16(), (1, 1, 1, 1), mode='reflect')
F.grid_sample(b[None].bfloat16(), x[None, :, None, :2], align_corners=False); F.max_unpool2d(b[None, :, :2].bfloat16(), torch.arange(4).reshape(1, 1, 2, 2).expand(1, 2, 2, 2), 2); torch.stft(k.repeat(4), 4, window=torch.ones(4), return_complex=True)
F.ctc_loss(b.bfloat16().log_softmax(2), torch.ones(3, 1, dtype=torch.long), [2, 2, 2], [1, 1, 1]); F.cosine_similarity(x, x.bfloat16()); F.pairwise_distance(x, x.bfloat16()); F.embedding(j, x); F.normalize(x.bfloat16()); F.gelu(x@x.T); F.dropout(k, 0.0)
F.multi_head_attention_forward(x[:, None], x[:, None], x[:, None], 3, 1, x.repeat(5, 1)[:9], w.repeat(3), None, None, False, 0.0, x.repeat(2, 1)[:3], w)[0]; torch.nn.functional.group_norm(b.bfloat16(), 1); torch.lerp(k, k, 0.5); torch.where(k > 1, k, f); torch.addcmul(k, k, f)
torch.nn.LSTM(3, 2)(x)[0].shape; torch.bucketize(k, f); torch.triangular_solve(x, x[:, :2]); torch.cholesky_inverse(x[:, :2].tril().bfloat16()); torch.lu_solve(x, *torch.linalg.lu_factor(x[:, :2])); torch.linalg.lstsq(x, x); torch.linalg.householder_product(x.T, w[:2]); torch.geqrf(x.bfloat16())
"""

LAYERS = {
    "x": """
        Linear(6,3); Conv1d(4,3,2); ConvTranspose1d(4,3,2); BatchNorm1d(4); LayerNorm(6); InstanceNorm1d(4,affine=True);
        RMSNorm(6); ReLU(); GELU(); SiLU(); PReLU(); ELU(); Softmax(-1); LogSoftmax(-1); Softplus(); GLU(); Hardswish();
        Mish(); Threshold(0.1,0.); Flatten(); utils.parametrizations.weight_norm(nn.Linear(6,3));
        utils.parametrizations.spectral_norm(nn.Linear(6,3)); utils.parametrizations.orthogonal(nn.Linear(6,3));
        utils.spectral_norm(nn.Linear(6,3))
    """,
    "x x": """
        Bilinear(6,6,2); CosineSimilarity(); PairwiseDistance()
    """,
    "image": """
        Conv2d(4,4,3,groups=2,padding="same"); ConvTranspose2d(4,3,2,stride=2); BatchNorm2d(4); GroupNorm(2,4);
        LocalResponseNorm(2); MaxPool2d(2); AdaptiveAvgPool2d(2); LPPool2d(2,2); FractionalMaxPool2d(2,output_size=3);
        ReflectionPad2d(1); ReplicationPad2d(1); ZeroPad2d(1); CircularPad2d(1); Upsample(scale_factor=2);
        Upsample(scale_factor=2,mode="bilinear"); PixelShuffle(2); Unfold(2)
    """,
    "volume": """
        Conv3d(4,2,2); ConvTranspose3d(4,2,2); BatchNorm3d(4); AvgPool3d(2); MaxPool3d(2); AdaptiveAvgPool3d(2);
        AdaptiveMaxPool3d(2)
    """,
    "index": """
        Embedding(5,4); EmbeddingBag(5,4)
    """,
    "tokens": """
        RNN(8,5,num_layers=2); GRU(8,5,bidirectional=True); LSTM(8,5,proj_size=3);
        TransformerEncoderLayer(8,2,16,dropout=0.);
        TransformerEncoder(nn.TransformerEncoderLayer(8,2,16,dropout=0.,activation="gelu",norm_first=True),2)
    """,
    "token": """
        RNNCell(8,3); GRUCell(8,3); LSTMCell(8,3)
    """,
    "tokens tokens tokens": """
        MultiheadAttention(8,2); MultiheadAttention(8,2,bias=False,add_bias_kv=True);
        MultiheadAttention(8,2,kdim=8,vdim=8,batch_first=True)
    """,
    "tokens tokens": """
        TransformerDecoderLayer(8,2,16,dropout=0.); Transformer(8,2,1,1,16,dropout=0.)
    """,
}
"""By the names of what they take (see `SIZES`): layers, parted by semicolons."""
SIZES = {
    "x": (2, 4, 6), "image": (2, 4, 6, 6), "volume": (1, 4, 4, 4, 4), "index": (2, 3), "tokens": (3, 2, 8),
    "token": (2, 8),
}  # fmt: skip


def cases() -> list[str]:
    """Every expression, on float32."""
    known = [
        c.replace("float64", "float32").replace(".double()", ".float()")
        for c in (*record_expressions.cases(), *record_functional.CASES)
    ]
    return list(dict.fromkeys([*known, *(c for line in MORE.strip().splitlines() for c in line.split("; "))]))


def evaluate(torch: Any, code: str, region: Any) -> tuple[dict[str, Any], Any]:
    """The leaves that the code names, and its value in a region."""
    torch.manual_seed(0)
    scope: dict[str, Any] = {"torch": torch, "math": math, "F": torch.nn.functional}
    leaves = {}
    for name, (values, dtype, wanted) in LEAVES.items():
        if re.search(rf"\b{name}\b", code):
            scope[name] = torch.tensor(values, dtype=getattr(torch, dtype))
            if wanted:
                leaves[name] = scope[name].requires_grad_()
    *before, last = code.split("; ")
    with region:
        exec("\n".join(before), scope)
        value = eval(last, scope)
    return leaves, value[0] if isinstance(value, tuple) else value


def observe(torch: Any, code: str, region: Any) -> dict[str, Any]:
    """The dtype of the value, its graph, that of its gradients, and numbers."""
    try:
        leaves, value = evaluate(torch, code, region)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}".partition("\n")[0]}
    if not isinstance(value, torch.Tensor):
        return {"value": str(value)}
    found: dict[str, Any] = {"dtype": str(value.dtype), "numbers": numbers(value)}
    if value.requires_grad and value.grad_fn is not None:
        found["graph"] = graph(value.grad_fn, leaves)
        try:
            grads = torch.autograd.grad(
                value, list(leaves.values()), cotangent(torch, value), create_graph=True, allow_unused=True
            )
        except Exception as error:
            return found | {"no gradient": str(error).partition(". ")[0].partition("\n")[0]}
        kept = {name: g for name, g in zip(leaves, grads, strict=True) if g is not None}
        found["gradients"] = {name: [str(g.dtype), numbers(g)] for name, g in kept.items()}
        found["graphs"] = {name: graph(g.grad_fn, leaves) for name, g in kept.items() if g.grad_fn is not None}
    return found


def layers() -> list[tuple[str, str]]:
    return [(" ".join(code.split()), given) for given, codes in LAYERS.items() for code in codes.split(";")]


def observe_layer(torch: Any, code: str, given: str) -> list[Any]:
    """The dtype of what a layer gives, the nodes, and the dtypes of the gradients."""
    torch.manual_seed(1)
    layer = eval(f"nn.{code}", {"nn": torch.nn})
    inputs = [
        torch.randint(0, 5, SIZES[n]) if n == "index" else torch.randn(SIZES[n], requires_grad=True)
        for n in given.split()
    ]
    with on(torch):
        found = layer(*inputs)
    found = found[0] if isinstance(found, tuple) else found
    wanted = [x for x in (*inputs, *layer.parameters()) if x.requires_grad]
    grads = torch.autograd.grad(found.float().sum(), wanted, allow_unused=True)
    return [str(found.dtype), " ".join(names(found)), " ".join("-" if g is None else str(g.dtype)[6:] for g in grads)]


def numbers(tensor: Any) -> list[Any]:
    try:
        flat = tensor.detach().reshape(-1).tolist()
    except RuntimeError:
        return []
    flat = [part for n in flat for part in ((n.real, n.imag) if isinstance(n, complex) else (n,))]
    return [str(n) if not math.isfinite(n) else float(f"{n:.4g}") for n in flat]


def off(torch: Any) -> Any:
    return torch.autocast("cpu", enabled=False)


def on(torch: Any) -> Any:
    return torch.autocast("cpu", dtype=torch.bfloat16)


def main() -> None:
    import torch

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    changed, same = {}, []
    for code in cases():
        without, found = observe(torch, code, off(torch)), observe(torch, code, on(torch))
        if without == found:
            same.append(code)
        else:
            changed[code] = found
    rows = (f"{json.dumps(code)}: {json.dumps(found)}" for code, found in changed.items())
    built = (f"{json.dumps(code)}: {json.dumps(observe_layer(torch, code, given))}" for code, given in layers())
    told = (f"{json.dumps(name)}: {json.dumps(run(torch))}" for name, run in SCENARIOS.items())
    EXPECTED.write_text(
        '{"same": '
        + json.dumps(same)
        + ',\n"changed": {\n'
        + ",\n".join(rows)
        + '\n},\n"layers": {\n'
        + ",\n".join(built)
        + '\n},\n"scenarios": {\n'
        + ",\n".join(told)
        + "\n}}\n"
    )
    print(f"{len(changed)} changed, {len(same)} as they are")


if __name__ == "__main__":
    main()

"""Writes down what real PyTorch says of tensors on the device `meta`, into meta.json: `python record_meta.py`.

Each case is an expression, or lines that leave a `result`; `m` is a (2, 3) tensor on `meta`, `c` one on the CPU.
"""

import copy
import io
import json
import pickle
import warnings
from pathlib import Path

EXPECTED = Path(__file__).with_name("meta.json")

EXPRESSIONS = """
m
m.requires_grad_()
torch.empty(0, device="meta")
torch.empty((), device="meta")
torch.empty(2, dtype=torch.int64, device="meta")
torch.empty(2, dtype=torch.complex64, device="meta")
torch.empty(40, 50, 60, dtype=torch.bfloat16, device="meta", requires_grad=True)
nn.Parameter(torch.empty(2, device="meta"))
torch.empty(2, device="meta", requires_grad=True) * 2
f"{torch.empty((), device='meta')}"
m.device, m.is_meta, m.is_cpu, m.is_cuda, m.get_device(), m.nbytes, m.element_size(), m.data_ptr(), m.type()
m.untyped_storage().nbytes()
torch.device("meta"), str(torch.device("meta", 0)), torch.empty(1, device="meta:0").is_meta
m.item()
torch.empty((), device="meta").item()
bool(torch.empty((), device="meta"))
float(torch.empty((), device="meta"))
int(torch.empty((), device="meta", dtype=torch.int64))
range(torch.empty((), device="meta", dtype=torch.int64))
m.tolist()
m.numpy()
m.__dlpack__()
m.to("cpu")
m.cpu()
m.to(c)
m.cuda()
c.copy_(m)
torch.tensor([m[0, 0]])
torch.tensor([1, 2])[torch.empty((), device="meta", dtype=torch.int64)]
torch.tensor(3) in m
torch.allclose(m, m)
torch.equal(m, m)
m[m > 0]
m.nonzero()
m.masked_select(m > 0)
m.unique()
torch.bincount(torch.empty(3, device="meta", dtype=torch.int64))
m + c
c + m
m * torch.tensor(2.0)
torch.tensor(2.0) * m
c * torch.empty((), device="meta")
torch.cat([m, c])
torch.addmm(c.T.mm(c), m.T, m)
nn.Linear(3, 2)(m)
F.mse_loss(m, c)
torch.add(m, m, out=c)
torch.add(c, c, out=m)
setattr(c, "data", m)
setattr(c, "grad", m)
m.to("meta") is m
c.to("meta"), c.requires_grad_().to("meta")
torch.tensor([1.0, 2.0], device="meta"), torch.as_tensor(c, device="meta"), torch.tensor(m)
torch.arange(5, device="meta"), torch.linspace(0, 1, 5, device="meta"), torch.eye(3, device="meta")
torch.full((2,), 3, device="meta"), torch.full_like(m, 1.0), torch.tril_indices(3, 3, device="meta")
torch.rand(2, device="meta"), torch.randint(5, (3,), device="meta"), torch.randperm(5, device="meta")
torch.zeros_like(m), torch.zeros_like(c, device="meta"), torch.zeros_like(m, device="cpu"), m.new_ones(2), c.new_ones(2, device="meta")
torch.bernoulli(m), torch.multinomial(m, 1), torch.normal(m, 1.0), torch.dropout(m, 0.5, True), m.normal_(), m.uniform_()
copy.deepcopy(m), pickle.loads(pickle.dumps(m)), pickle.loads(pickle.dumps(nn.Parameter(m)))
len(m), list(m), m.size()
m.sort(), m.max(), m.max(0), m.topk(2), m.argmax(), m.std(), m.sum(0), m.softmax(1), m.cumsum(0)
torch.isnan(m).any(), (m > 0).sum(), m.int() / 2, m.half() + m, m.half() + m.bfloat16(), m.to(torch.complex64).abs()
m.view(3, 2), m.t().reshape(6), m.split([1, 2], 1), m.unbind(), m.chunk(2), m.expand(4, 2, 3), m[None, :, 1:]
m.t().view(6)
m @ m.T, torch.einsum("ij,kj->ik", m, m), torch.outer(m[0], m[1]), torch.fft.fft(m)
torch.linalg.svd(m), torch.linalg.inv(m[:, :2]), torch.linalg.eigh(m[:, :2]), torch.linalg.cholesky(m[:, :2])
torch.where(m > 0, m, 0.0), m.clamp(0, 1), m.masked_fill(m > 0, 1.0), torch.nan_to_num(m), torch.lerp(m, m, 0.5)
torch.gather(m, 1, torch.zeros(2, 1, dtype=torch.int64)), m[torch.tensor([0, 1])], m[:, torch.tensor([True, False, True])]
F.embedding(torch.empty(2, dtype=torch.int64, device="meta"), torch.empty(5, 4, device="meta"))
F.cross_entropy(m, torch.empty(2, dtype=torch.int64, device="meta"))
F.conv2d(torch.empty(1, 3, 8, 8, device="meta"), torch.empty(4, 3, 3, 3, device="meta"))
F.layer_norm(m, (3,)), F.gelu(m), F.max_pool1d(m, 2), F.interpolate(m[None], scale_factor=2), F.pad(m, (1, 2))
F.scaled_dot_product_attention(m[None, None], m[None, None], m[None, None], is_causal=True)
torch.testing.assert_close(m, m)
torch.testing.assert_close(m, m.t())
torch.empty(10**6, 10**6, device="meta") @ torch.empty(10**6, 10, device="meta")
torch.hann_window(5, device="meta"), torch.fft.fft(torch.hann_window(5, device="meta"))
nn.Linear(3, 2, device="meta").to("cpu")
nn.Linear(3, 2).load_state_dict(nn.Linear(3, 2, device="meta").state_dict())
torch.autograd.grad((m.requires_grad_() * 2).sum(), m)
(m.requires_grad_() * 2).backward(c)
c.requires_grad_().to("meta").sum().backward()
"""

PROGRAMS = {
    "strides": """
x = torch.empty(2, 3, 4, device="meta").transpose(0, 2)
made = (x, x.contiguous(), x.reshape(6, 4), x + 1, x.clone(), x.permute(1, 0, 2), x.expand(5, 4, 3, 2), x.double(), torch.empty_like(x))
result = [t.stride() for t in made], x.is_contiguous(), x[1:].storage_offset()""",
    "channels_last": """
x = torch.empty(2, 3, 8, 8, device="meta").to(memory_format=torch.channels_last)
result = x.stride(), x.is_contiguous(memory_format=torch.channels_last), (x * 2).stride()""",
    "a view is changed in place": """
x = torch.empty(3, 4, device="meta")
y = x[1:].t()
y.add_(1)
result = y, x._version, y._base is x, y.stride(), y.storage_offset()""",
    "a view in the graph is changed in place": """
x = torch.empty(3, 4, device="meta", requires_grad=True).clone()
x[0] = 1.0
x[:, 1].mul_(2)
result = x, x.grad_fn.name(), x.grad_fn.next_functions[0][0].name()""",
    "what an index selects is written": """
x = torch.empty(3, 4, device="meta")
x[x > 0] = 0.0
x[torch.tensor([0, 1])] = torch.empty(2, 4, device="meta")
x[0] = torch.ones(4)
x += 1
result = x, x._version""",
    "gradients": """
x = torch.empty(3, device="meta", requires_grad=True)
first, = torch.autograd.grad((x**3).sum(), x, create_graph=True)
second, = torch.autograd.grad(first.sum(), x)
(x * 2).sum().backward()
result = first, second, x.grad""",
    "nodes that PyTorch makes on meta only": """
def names(y, x):
    gradient, = torch.autograd.grad(y, x, torch.empty_like(y, requires_grad=True), create_graph=True)
    found, waiting = [], [gradient.grad_fn]
    while waiting:
        node = waiting.pop()
        found.append(node.name().rpartition("::")[2])
        waiting += [after for after, _ in node.next_functions if after is not None]
    return found
x = torch.empty(3, 3, device="meta", requires_grad=True)
made = (x.t().reshape(3, 1, 3), x.max(), x.median(), x.prod(), x.cumprod(0), x[torch.tensor([0, 1])], torch.linalg.matrix_exp(x),
        torch.linalg.eigh(x)[0], F.scaled_dot_product_attention(x[None, None], x[None, None], x[None, None]))
result = [names(y, x) for y in made]""",
    "a number on the CPU has no gradient from meta": """
w = torch.ones((), requires_grad=True)
(w * torch.empty(3, device="meta")).sum().backward()""",
    "hooks": """
x = torch.empty(2, device="meta", requires_grad=True)
seen = []
x.register_hook(lambda grad: seen.append(grad))
(x * 2).sum().backward()
result = seen, x.grad""",
    "a custom function": """
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2
    @staticmethod
    def backward(ctx, grad):
        return grad * 2 + ctx.saved_tensors[0]
x = torch.empty(2, device="meta", requires_grad=True)
y = Double.apply(x)
y.sum().backward()
result = y.shape, y.device, x.grad""",
    "a checkpoint": """
x = torch.empty(3, device="meta", requires_grad=True)
y = torch.utils.checkpoint.checkpoint(lambda a: a.sin() * 2, x, use_reentrant=False)
y.sum().backward()
result = y.shape, x.grad""",
    "a device as a context": """
with torch.device("meta"):
    with torch.device("cpu"):
        inner = torch.ones(2)
    outer = torch.ones(2), torch.tensor([1, 2]), torch.rand(3), torch.zeros_like(c), nn.Linear(2, 2).weight
result = inner, outer, torch.ones(1)""",
    "the default device": """
torch.set_default_device("meta")
try:
    result = torch.ones(2), torch.get_default_device(), torch.ones(1, device="cpu")
finally:
    torch.set_default_device(None)""",
    "random numbers are not drawn": """
torch.manual_seed(0)
first = torch.rand(2)
torch.manual_seed(0)
torch.rand(5, device="meta"), torch.empty(3, device="meta").normal_(), F.dropout(m), torch.randperm(9, device="meta")
result = torch.equal(first, torch.rand(2))""",
    "convolutional": """
with torch.device("meta"):
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8 * 15 * 15, 10), nn.Dropout())
    y = model(torch.empty(2, 3, 32, 32))
y.sum().backward()
result = y, model[0].weight.grad, model[1].running_mean, model[1].num_batches_tracked""",
    "transformer": """
model = nn.Transformer(16, 2, 1, 1, 32, batch_first=True, device="meta")
x = torch.randn(2, 5, 16, device="meta")
y = model(x, x)
y.sum().backward()
result = y, sum(p.grad is not None for p in model.parameters())""",
    "recurrent": """
model = nn.LSTM(4, 8, 2, device="meta")
y, (h, c) = model(torch.randn(5, 2, 4, device="meta"))
y.sum().backward()
result = y, h, c, model.weight_ih_l0.grad""",
    "attention": """
model = nn.MultiheadAttention(8, 2, device="meta")
x = torch.empty(5, 1, 8, device="meta")
result = model(x, x, x)""",
    "embedding": """
model = nn.Embedding(10, 4, device="meta", padding_idx=0)
y = model(torch.zeros(2, 3, dtype=torch.int64, device="meta"))
y.sum().backward()
result = y, model.weight.grad""",
    "a module is moved": """
model = nn.Linear(3, 2).to("meta")
fresh = nn.Linear(3, 2, device="meta").to_empty(device="cpu")
result = model.weight, model.weight.is_leaf, fresh.weight.shape, fresh.weight.device, fresh.weight.requires_grad""",
    "a state is assigned": """
model = nn.Linear(3, 2, device="meta")
keys = model.load_state_dict(nn.Linear(3, 2).state_dict(), assign=True)
result = keys, model.weight.device, model.weight.requires_grad, type(model.weight).__name__""",
    "a state that is copied onto meta goes nowhere": """
model = nn.Linear(3, 2, device="meta")
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    model.load_state_dict(nn.Linear(3, 2).state_dict())
result = model.weight.device, [str(warning.message) for warning in told]""",
    "initialized": """
p = torch.empty(3, 4, device="meta", requires_grad=True)
names = "uniform_ normal_ ones_ zeros_ xavier_uniform_ xavier_normal_ kaiming_uniform_ kaiming_normal_ trunc_normal_ orthogonal_ eye_"
result = [getattr(nn.init, name)(p) for name in names.split()], nn.init.constant_(p, 3.0)""",
    "the norm of gradients": """
model = nn.Linear(3, 2, device="meta")
model(m).sum().backward()
result = nn.utils.clip_grad_norm_(model.parameters(), 1.0), nn.utils.parameters_to_vector(model.parameters())""",
    "saved and loaded": """
file = io.BytesIO()
torch.save({"meta": torch.empty(2, 3, device="meta").t(), "cpu": torch.ones(2)}, file)
file.seek(0)
loaded = torch.load(file)
file.seek(0)
result = loaded, loaded["meta"].stride(), torch.load(file, map_location="meta")""",
    "loaded onto meta": """
file = io.BytesIO()
torch.save(nn.Linear(3, 2).state_dict(), file)
file.seek(0)
result = dict(torch.load(file, map_location=torch.device("meta")))""",
}

OPTIMIZERS = """
    SGD Adam AdamW NAdam RAdam Adamax Adagrad Adadelta RMSprop Rprop Adafactor
""".split()
STEPS = """
model = nn.Linear(3, 2, device="meta")
optimizer = torch.optim.{name}(model.parameters(), lr=0.1)
for _ in range(2):
    optimizer.zero_grad()
    model(m).pow(2).mean().backward()
    optimizer.step()
result = model.weight, {{k: v for k, v in optimizer.state[model.weight].items() if torch.is_tensor(v)}}"""


def cases():
    """Every case by its name."""
    expressions = {line: f"result = {line}" for line in EXPRESSIONS.strip().splitlines()}
    return expressions | PROGRAMS | {f"steps of {name}": STEPS.format(name=name) for name in OPTIMIZERS}


def outcome(torch, source):
    """The text of the result, or the error's type and first sentence."""
    nn = torch.nn
    scope = {
        "torch": torch, "nn": nn, "F": nn.functional, "io": io, "copy": copy, "pickle": pickle, "warnings": warnings,
        "m": torch.empty(2, 3, device="meta"), "c": torch.ones(2, 3),
    }  # fmt: skip
    try:
        exec(source, scope)
        return repr(scope["result"])
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0].split('. ')[0].rstrip('.')}"


if __name__ == "__main__":
    import torch

    EXPECTED.write_text(json.dumps({name: outcome(torch, source) for name, source in cases().items()}, indent=1) + "\n")

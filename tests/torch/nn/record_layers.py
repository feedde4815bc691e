"""Records with real PyTorch what each layer is and gives, into layers.json: `python tests/torch/nn/record_layers.py`.

For each row below: `repr`, the first parameters after a seed, the output, its graph, and the gradients.
"""

from pathlib import Path

from tests.torch.ops.record_expressions import cotangent, graph, plain
from tests.torch.recording import record

EXPECTED = Path(__file__).with_name("layers.json")

# A layer, and the shapes of what it is called with; `i` before a shape makes integers, `p` numbers between 0 and 1.
LAYERS = """
Linear(3, 2) | 4,3
Linear(3, 2, bias=False) | 2,4,3
Linear(3, 2) | 2,2,3
Bilinear(2, 3, 4) | 5,2 | 5,3
Identity() | 2,2
Conv1d(2, 4, 3, padding=1, groups=2) | 2,2,5
Conv2d(2, 3, 3, stride=2, padding=1, dilation=2) | 1,2,6,6
Conv2d(2, 3, 2, padding='same', padding_mode='circular') | 2,4,4
Conv3d(1, 2, 2, bias=False) | 1,1,3,3,3
ConvTranspose1d(2, 3, 3, stride=2, output_padding=1) | 1,2,4
ConvTranspose2d(2, 2, 2, groups=2) | 1,2,3,3
ConvTranspose3d(1, 1, 2) | 1,1,2,2,2
MaxPool1d(2) | 1,2,6
MaxPool2d(2, stride=1, padding=1) | 1,2,4,4
MaxPool3d(2) | 1,1,4,4,4
AvgPool1d(2) | 1,2,6
AvgPool2d(2, ceil_mode=True, count_include_pad=False) | 1,1,5,5
AvgPool3d(2) | 1,1,4,4,4
LPPool1d(2, 2) | 1,2,6
LPPool2d(2, 2) | 1,1,4,4
AdaptiveAvgPool1d(2) | 1,2,5
AdaptiveAvgPool2d((2, None)) | 1,1,5,4
AdaptiveAvgPool3d(2) | 1,1,3,4,5
AdaptiveMaxPool1d(2) | 1,2,5
AdaptiveMaxPool2d(2) | 1,1,5,4
ReflectionPad1d(2) | 1,2,4
ReflectionPad2d((1, 2, 0, 1)) | 1,1,4,4
ReplicationPad2d(1) | 1,1,2,3
CircularPad2d(1) | 1,1,3,3
ConstantPad1d((1, 2), 3.5) | 2,3
ZeroPad2d(1) | 1,1,2,2
BatchNorm1d(3) | 4,3
BatchNorm2d(2, affine=False, momentum=None) | 2,2,3,3
BatchNorm1d(3, track_running_stats=False).eval() | 4,3
BatchNorm2d(2).eval() | 2,2,2,2
InstanceNorm1d(2, affine=True) | 2,2,4
InstanceNorm2d(2, track_running_stats=True) | 2,2,3,3
LayerNorm((2, 3)) | 2,2,3
LayerNorm(3, elementwise_affine=False) | 2,3
GroupNorm(2, 4) | 2,4,3
RMSNorm(3) | 2,3
LocalResponseNorm(2) | 1,4,3
ReLU() | 2,3
ReLU(inplace=True) | 2,3
ReLU6() | 2,3
LeakyReLU(0.2) | 2,3
PReLU(3) | 2,3
ELU() | 2,3
CELU(0.5) | 2,3
SELU() | 2,3
GELU() | 2,3
GELU('tanh') | 2,3
GLU() | 2,4
SiLU() | 2,3
Mish() | 2,3
Hardswish() | 2,3
Hardsigmoid() | 2,3
Hardtanh(-0.5, 0.5) | 2,3
Hardshrink() | 2,3
Softshrink(0.3) | 2,3
Softplus(2, 1) | 2,3
Softsign() | 2,3
Tanhshrink() | 2,3
Threshold(0.1, 2) | 2,3
LogSigmoid() | 2,3
Sigmoid() | 2,3
Tanh() | 2,3
Softmax(1) | 2,3
Softmax2d() | 1,3,2,2
LogSoftmax(-1) | 2,3
Softmin(0) | 2,3
Dropout(0.5) | 20
Dropout2d(0.5) | 2,4,2,2
AlphaDropout(0.3) | 10
Dropout(0.5).eval() | 3
Flatten() | 2,3,2
Unflatten(1, (2, 3)) | 2,6
Fold((3, 3), 2) | 1,4,4
Unfold(2) | 1,1,3,3
Upsample(scale_factor=2) | 1,1,2,2
Upsample(size=(3, 5), mode='bilinear') | 1,1,2,3
UpsamplingBilinear2d(scale_factor=2) | 1,1,2,2
PixelShuffle(2) | 1,4,2,2
PixelUnshuffle(2) | 1,1,4,4
ChannelShuffle(2) | 1,4,2
CosineSimilarity() | 2,3 | 2,3
PairwiseDistance() | 2,3 | 2,3
Embedding(6, 3, padding_idx=0) | i2,4
EmbeddingBag(6, 3, mode='sum') | i2,4
L1Loss() | 2,3 | 2,3
MSELoss(reduction='sum') | 2,3 | 2,3
SmoothL1Loss(beta=0.5) | 2,3 | 2,3
HuberLoss() | 2,3 | 2,3
KLDivLoss(reduction='batchmean') | 2,3 | p2,3
NLLLoss() | 3,6 | i3
CrossEntropyLoss(label_smoothing=0.1) | 3,6 | i3
CrossEntropyLoss(weight=torch.tensor([1.0, 2, 3, 1, 2, 3], dtype=torch.float64), ignore_index=1) | 3,6 | i3
BCELoss() | p2,3 | p2,3
BCEWithLogitsLoss() | 2,3 | p2,3
PoissonNLLLoss() | 2,3 | p2,3
GaussianNLLLoss() | 2,3 | 2,3 | p2,3
HingeEmbeddingLoss() | 2,3 | 2,3
SoftMarginLoss() | 2,3 | 2,3
MarginRankingLoss(0.5) | 3 | 3 | 3
MultiMarginLoss() | 3,6 | i3
MultiLabelSoftMarginLoss() | 2,3 | p2,3
TripletMarginLoss() | 2,3 | 2,3 | 2,3
CosineEmbeddingLoss() | 3,2 | 3,2 | 3
RNN(3, 4) | 3,2,3
RNN(3, 4, 2, nonlinearity='relu', bias=False, batch_first=True) | 2,3,3
GRU(3, 4, bidirectional=True) | 3,2,3
GRU(3, 4, 2, dropout=0.5) | 3,3
LSTM(3, 4) | 3,2,3
LSTM(3, 4, 2, batch_first=True, bidirectional=True) | 2,3,3
LSTM(3, 4, proj_size=2) | 3,2,3
LSTM(3, 4, 2, batch_first=True, bidirectional=True).float() | f2,3,3
LSTM(3, 4, bias=False).float() | f3,3
RNNCell(3, 4) | 2,3 | 2,4
GRUCell(3, 4) | 3
LSTMCell(3, 4) | 2,3
MultiheadAttention(4, 2) | 3,2,4 | 3,2,4 | 3,2,4
MultiheadAttention(4, 2, kdim=3, vdim=2, add_bias_kv=True, batch_first=True) | 2,3,4 | 2,5,3 | 2,5,2
TransformerEncoderLayer(4, 2, 8, 0.0) | 3,2,4
TransformerDecoderLayer(4, 2, 8, 0.0, norm_first=True, batch_first=True) | 2,3,4 | 2,5,4
Transformer(4, 2, 1, 1, 8, 0.0, activation='gelu') | 3,2,4 | 2,2,4
""".strip().splitlines()


def inputs(torch, shapes):
    """Fixed tensors of the given kinds and shapes."""
    made = []
    for position, text in enumerate(shapes):
        kind, shape = (text[0], text[1:]) if text[0] in "ipf" else ("", text)
        sizes = tuple(map(int, shape.split(",")))
        count = 1
        for size in sizes:
            count *= size
        if kind == "i":
            made.append(torch.tensor([(5 * n + 2) % 6 for n in range(count)]).reshape(sizes))
            continue
        numbers = cotangent(torch, torch.zeros(sizes, dtype=torch.float64)) * (1.5 - 0.25 * position)
        if kind == "p":
            numbers = numbers.sigmoid()
        made.append(
            (numbers.float() if kind == "f" else numbers).detach().requires_grad_(position == 0 and kind != "i")
        )
    return made


def brief(tensor):
    """The first elements and the sum."""
    dtype, shape, flat = plain(tensor)
    return [dtype, shape, [*flat[:4], sum(flat)]]


def observe(torch, row):
    """Everything that is recorded of one layer."""
    layer, *shapes = (part.strip() for part in row.split("|"))
    torch.manual_seed(7)
    module = eval(layer, {"torch": torch, **{name: getattr(torch.nn, name) for name in (layer.partition("(")[0],)}})
    found = {"repr": repr(module), "state": {name: brief(t) for name, t in module.state_dict().items()}}
    if ".float()" not in layer:
        module = module.double()
    given = inputs(torch, shapes)
    leaves = {name.replace(".", "_"): p for name, p in module.named_parameters()}
    leaves |= {f"input{i}": t for i, t in enumerate(given) if t.requires_grad}
    start = [t * 1 if "inplace=True" in layer else t for t in given]
    outputs = [t for t in flat(torch, module(*start)) if t.requires_grad]
    found["outputs"] = [plain(t) for t in outputs]
    found["graphs"] = ["leaf" if t.grad_fn is None else graph(t.grad_fn, leaves) for t in outputs]
    grads = torch.autograd.grad(
        outputs, list(leaves.values()), [cotangent(torch, t) for t in outputs], allow_unused=True
    )
    found["grads"] = {name: None if g is None else brief(g) for name, g in zip(leaves, grads, strict=True)}
    found["after"] = {name: brief(t) for name, t in module.named_buffers()}
    return found


def flat(torch, value):
    """The tensors of an output."""
    if isinstance(value, (tuple, list)):
        return [t for part in value for t in flat(torch, part)]
    return [value] if isinstance(value, torch.Tensor) else []


if __name__ == "__main__":
    record(EXPECTED, LAYERS, observe)

"""Operations of every kind that the compiled listener tells of or leaves to Python: prints how it told of them, and
what was recorded.

    python telling.py
"""

import json
import warnings

import torch
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import checkpoint

from autograph_cli.engines import connect
from autograph_cli.engines.pytorch import connection, hooks
from autograph_cli.record.recorder import Recorder


class Functions(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        return function(*args, **(kwargs or {}))


class Dispatches(TorchDispatchMode):
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        return function(*args, **(kwargs or {}))


class Own(torch.Tensor):
    pass


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        return 2 * ctx.saved_tensors[0] * grad


def within(block, made):
    with block:
        return made()


def changed(x):
    y = x * 1
    y[:, 1] = 3
    y[0].mul_(2)
    return y.add_(1)


def without(x):
    with torch.no_grad():
        chosen = (x > 0).float() * 2
    return x * chosen


def packed(x):
    with torch.autograd.graph.saved_tensors_hooks(lambda kept: kept.clone(), lambda kept: kept):
        return (x * x).exp()


CASES = {
    "plain": lambda x, w: (x @ w).exp() * 2 + torch.sub(x @ w, 1, alpha=2),
    "leaf again": lambda x, w: w * w + w.t() @ w,
    "a parameter": lambda x, w: x @ torch.nn.Parameter(w.detach()),
    "views": lambda x, w: x.view(-1)[None, 2:, None].expand(2, -1, 3).transpose(0, 1),
    "several results": lambda x, w: torch.cat([*x.chunk(2, 1), *x.unbind(0)[:0]], 0) + x.sort(0)[0].repeat(2, 1)[:, :2],
    "results without a gradient": lambda x, w: x.max(1).values + F.max_pool2d(x[None, None], 2).sum(),
    "a tuple of many kinds": lambda x, w: F.scaled_dot_product_attention(x[None, None], x[None, None], x[None, None]),
    "lists": lambda x, w: torch.stack([x, x * 2], 1) + x[torch.tensor([0, 1])][:, None],
    "indices": lambda x, w: x[:, None, torch.tensor([1, 0])],
    "layers": lambda x, w: F.layer_norm(F.linear(x, w), (4,)) + F.embedding(torch.tensor([0, 1]), w),
    "convolution": lambda x, w: F.conv1d(x[None], w[:2, :2, None], padding=0, stride=2),
    "loss": lambda x, w: F.cross_entropy(x, torch.tensor([0, 3]), label_smoothing=0.1),
    "random": lambda x, w: F.dropout(x, 0.25),
    "changed in place": lambda x, w: changed(x),
    "without gradients": lambda x, w: without(x),
    "other dtypes": lambda x, w: x.to(torch.float64).sum() + torch.view_as_complex(x.view(2, 2, 2) * 1).abs().sum(),
    "sparse": lambda x, w: torch.sparse.mm(torch.eye(2).to_sparse(), x),
    "nested": lambda x, w: torch.nested.as_nested_tensor([x[0], x[1, :2]]).to_padded_tensor(0.0) * 2,
    "a subclass": lambda x, w: torch.sin(x * torch.ones(2, 4).as_subclass(Own)).as_subclass(torch.Tensor),
    "a function mode": lambda x, w: within(Functions(), lambda: (x * 2).sin()),
    "a dispatch mode": lambda x, w: within(Dispatches(), lambda: (x * 2).sin()),
    "packed": lambda x, w: packed(x),
    "anomaly": lambda x, w: within(torch.autograd.set_detect_anomaly(True), lambda: (x * 2).exp()),
    "custom": lambda x, w: Square.apply(x) * 2,
    "checkpoint": lambda x, w: checkpoint(lambda x: (x @ w).tanh().exp(), x, use_reentrant=False),
    "derivatives": lambda x, w: torch.autograd.grad((x @ w).tanh().sum(), x, create_graph=True)[0],
    "transformed": lambda x, w: torch.func.vmap(lambda row: (row @ w).sin())(x),
    "a number made a tensor": lambda x, w: torch.where(x > 0, x, 2.0) + torch.true_divide(x, 3),
}


def recorded(name):
    torch.manual_seed(0)
    x, w = torch.randn(2, 4, requires_grad=True), torch.randn(4, 4, requires_grad=True)
    recorder = Recorder("all", engine=connect("torch"), derive=True)
    recorder.start()
    for _ in range(2):
        CASES[name](x, w).sum().backward()
    trace = recorder.finish({"x": x, "w": w})
    return repr((trace.steps, trace.notices))


def main():
    warnings.simplefilter("ignore")
    slow, told = connection.PyTorch.computed, []
    connection.PyTorch.computed = lambda *about: told.append(1) or slow(*about)
    print(json.dumps([bool(hooks.fast()), {name: [recorded(name), len(told), told.clear()][:2] for name in CASES}]))


if __name__ == "__main__":
    main()

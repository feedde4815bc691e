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
torch.Tensor.sum(3); torch.Tensor.sum(); torch.Tensor.view([1], 1); x.abs_(1); x.add_(); x.add_("a"); x.mul_("a"); x.zero_(1)
x.fill_("a"); x.copy_("a"); x.clamp_("a"); x.numpy(1); x.size("a"); x.to("a"); x.to(dtype="a")
x.type("a"); x.float(1); x.requires_grad_("a"); x.new_zeros("a"); x.new_full((2,), "a"); x.index_add_(0, i); x.select("a", 0); x.narrow(0, 1)
torch.device("foo"); torch.device("cuda:x"); torch.device(1.5); torch.device(); torch.zeros(2, device="cuda")
""".strip()


def calls():
    """Every call."""
    return [call.strip() for line in CALLS.splitlines() for call in line.split("; ")]


def scope(torch):
    """The names that calls use."""
    import numpy as np

    x = torch.arange(6.0).reshape(2, 3)
    return {
        "torch": torch, "x": x, "y": x + 1, "v": torch.arange(3.0), "c": x > 2, "i": torch.tensor([0, 1]), "A": np.ones((2, 3)),
    }  # fmt: skip


def first_sentence(text):
    """Up to the first end of a line, without what is said of single signatures."""
    return text.partition("\n")[0].strip()


def observe(torch, call):
    """The type and the first line of the error of a call."""
    try:
        eval(call, scope(torch))
    except Exception as error:
        return f"{re.sub('^_', '', type(error).__name__)}: {first_sentence(str(error))}"
    return "nothing raised"


def main():
    import torch

    warnings.simplefilter("ignore")
    found = {call: observe(torch, call) for call in calls()}
    taken = [call for call, said in found.items() if said == "nothing raised"]
    if taken:
        raise SystemExit(f"PyTorch takes: {'; '.join(taken)}")
    EXPECTED.write_text(json.dumps(found, indent=0) + "\n")
    print(f"{len(found)} calls")


if __name__ == "__main__":
    main()

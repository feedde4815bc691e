"""Records with real PyTorch what is computed in dtypes of 8 bits, into float8.json: `python tests/torch/core/base/record_float8.py`.

Each line is told for each of the dtypes: `k` is the dtype, `x` some numbers of it, `y` four of them.
"""

import io
import json
import warnings
from pathlib import Path
from typing import Any

EXPECTED = Path(__file__).with_name("float8.json")
DTYPES = ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu")
LINES = """
(k, k.itemsize, k.is_floating_point, k.is_signed, k.to_real()); torch.finfo(k); torch.finfo(k).bits; k.to_complex()
wide.to(k).float(); wide.double().to(k).double(); wide.half().to(k).half(); wide[:9].bfloat16().to(k); y; y[1]; y[:0]; y.view(2, 2); y.type()
y.view(torch.uint8); torch.arange(20, 28, dtype=torch.uint8).view(k); y.int(); y.bool(); y.tolist(); y[1].item(); bool(y[1])
torch.tensor([1, 2, 300, -5]).to(k).float(); torch.tensor([True]).to(k); torch.tensor([1 + 2j]).to(k); y[1:].to(torch.complex64)
torch.zeros(2, dtype=k).float(); torch.ones(2, dtype=k); torch.full((2,), 3.0, dtype=k); torch.tensor([1.0, 2.0], dtype=k)
torch.cat([y, y]); torch.stack([y, y]); y.clone(); y.repeat(2); y.roll(1); y.expand(2, 4); y.view(2, 2).t().contiguous(); y.split(2)
y[torch.tensor([1, 2])]; y[torch.tensor([True, False, True, True])]; y.index_select(0, torch.tensor([1])); y.diag()
y.clone().fill_(2.0); y.clone().zero_().float(); torch.zeros(4).copy_(y); y.clone().copy_(torch.ones(4)); y.isnan(); y == y; y != y
torch.where(torch.tensor([True, False]), y[1:3], y[1:3]); torch.any(y); F.embedding(torch.tensor([1, 0]), y.view(2, 2)); copy.deepcopy(y)
y[:2].clone().requires_grad_(); torch.zeros(2, dtype=k, device="meta"); y.nbytes; kept(y); gradient(k); nn.Linear(2, 2).to(k).weight.dtype
torch.promote_types(k, torch.float32); torch.promote_types(torch.int32, k); torch.promote_types(k, k); torch.result_type(y, 1.0)
torch.can_cast(k, torch.float32); torch.set_default_dtype(k); y.numpy(); y + torch.ones(4)
torch.arange(3, dtype=k); torch.randn(3, dtype=k); torch.rand(3, dtype=k); torch.rand_like(y); y.gather(0, torch.tensor([1])); y.flip(0)
y.sort(); y.masked_fill(torch.tensor([True, False, True, True]), 1.0); y.nan_to_num(); y + y; y + 1; 2 - y; y.clone().add_(1); y / y; y**2; -y
y < y; torch.maximum(y, y); y.exp(); y.sqrt(); y.relu(); y.sigmoid(); y.sum(); y.mean(); y.max(); y.argmax(); y.cumsum(0); y.prod(); y.unique()
y.softmax(0); y.clamp(0.0); y.norm(); y.topk(1); y.view(2, 2).tril(); F.gelu(y); F.layer_norm(y, (4,)); y.normal_(); y.uniform_(); y.view(2, 2).trace()
"""
NUMBERS = ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz")
OF_NUMBERS = "y * y; y.view(2, 2) @ y.view(2, 2); y.abs(); y.dot(y)"


def lines(kind: str) -> list[str]:
    """Return what is tried in a dtype."""
    text = LINES + (OF_NUMBERS if kind in NUMBERS else "")
    return [line.strip() for line in text.replace("\n", ";").split(";") if line.strip()]


def outcomes(torch: Any, kind: str) -> dict[str, str]:
    """Return what each line gives; of a refusal its type, and what it says of the dtype."""
    import copy

    def kept(tensor: Any) -> Any:
        file = io.BytesIO()
        torch.save({"a": tensor}, file)
        file.seek(0)
        return torch.load(file)

    def gradient(k: Any) -> Any:
        w = torch.tensor([1.0, 2.0], requires_grad=True)
        (w.to(k).float() * torch.tensor([3.0, 4.3])).sum().backward()
        return w.grad

    k = getattr(torch, kind)
    wide = torch.tensor(
        [0.0, 1.0, -2.5, 0.3, 448.0, 460.0, 1000.0, 60000.0, 1e9, torch.inf, -torch.inf, torch.nan, 1e-9, -1e-3]
    )
    found = {}
    for line in lines(kind):
        y = torch.tensor([0.0, 1.0, -2.5, 0.3]).to(k)
        names = {"torch": torch, "F": torch.nn.functional, "nn": torch.nn, "copy": copy, "wide": wide, "k": k, "y": y}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = str(eval(line, {**names, "kept": kept, "gradient": gradient}))
        except (RuntimeError, TypeError) as error:
            said = str(error).partition("\n")[0]
            result = f"{type(error).__name__}: {said.rpartition('not implemented')[2]}"
        found[line] = result
    return found


if __name__ == "__main__":
    import torch

    EXPECTED.write_text(json.dumps({kind: outcomes(torch, kind) for kind in DTYPES}, indent=1) + "\n")

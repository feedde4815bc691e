"""Records with real PyTorch how many floating-point operations its FlopCounterMode counts, into flops.json: `python
tests/record/measure/record_flops.py`.

Each line is a script's last expression; the counts are those of the expression, of its gradient, and of the gradient of
the sum of squares of that.
"""

import json
from pathlib import Path

EXPECTED = Path(__file__).with_name("flops.json")
SCOPE = {
    "a": (3, 4),
    "b": (4, 5),
    "bias": (5,),
    "v": (4,),
    "batch": (2, 3, 4),
    "other": (2, 4, 5),
    "added": (2, 3, 5),
    "sequence": (2, 6, 7),
    "image": (2, 4, 6, 5),
    "volume": (2, 2, 3, 4, 5),
    "kernel1": (8, 6, 3),
    "kernel2": (6, 4, 3, 2),
    "grouped": (6, 2, 3, 2),
    "kernel3": (3, 2, 2, 2, 2),
    "turned": (4, 6, 3, 2),
}
EXPRESSIONS = """
a @ b
torch.mm(a, b)
a.detach() @ b
a @ b.detach()
a.T.contiguous().T @ b
a @ v
torch.dot(v, v)
(a * 2).exp()
torch.addmm(bias, a, b)
torch.addmm(bias, a, b, beta=2, alpha=3)
F.linear(a, b.T, bias)
F.linear(batch, b.T, bias)
F.linear(batch, b.T)
batch @ other
batch @ b
torch.bmm(batch, other)
torch.baddbmm(added, batch, other)
torch.einsum("bij,bjk->bik", batch, other)
F.conv1d(sequence, kernel1)
F.conv1d(sequence, kernel1, stride=2, padding=1)
F.conv2d(image, kernel2)
F.conv2d(image, kernel2, stride=2, padding=1, dilation=(1, 2))
F.conv2d(image, grouped, groups=2)
F.conv2d(image.detach(), kernel2)
F.conv3d(volume, kernel3, padding=1)
F.conv_transpose2d(image, turned, stride=2)
F.conv_transpose2d(image, turned.detach(), padding=1)
F.max_pool2d(F.relu(F.conv2d(image, kernel2)), 2)
"""


def expected(expression: str) -> list[int]:
    """The counts of one expression."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    scope = {name: torch.rand(shape, requires_grad=True) for name, shape in SCOPE.items()}
    found = []

    def counted(run):
        with FlopCounterMode(display=False) as counter:
            result = run()
        found.append(counter.get_total_flops())
        return result

    result = counted(lambda: eval(expression, {"torch": torch, "F": torch.nn.functional}, scope))
    leaves = list(scope.values())
    total = (result**2).sum()
    grads = counted(lambda: torch.autograd.grad(total, leaves, create_graph=True, allow_unused=True))
    again = sum((g**2).sum() for g in grads if g is not None)
    if again.requires_grad:
        counted(lambda: torch.autograd.grad(again, leaves, allow_unused=True))
    else:
        found.append(0)
    return found


if __name__ == "__main__":
    lines = EXPRESSIONS.strip().splitlines()
    EXPECTED.write_text(json.dumps({line: expected(line) for line in lines}, indent=1) + "\n")

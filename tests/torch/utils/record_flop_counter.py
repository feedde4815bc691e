"""Records with real PyTorch what `FlopCounterMode` counts, into flop_counter.json: `python -m tests.torch.utils.record_flop_counter`.

Each case is a statement; `A(2, 3)` is a tensor of ones that requires a gradient. The gradient of what a case gives is counted too.
"""

import importlib
import warnings
from pathlib import Path

from tests.torch.recording import record

EXPECTED = Path(__file__).with_name("flop_counter.json")
CASES = """
A(2, 3) @ A(3, 4)
A(2, 3) @ A(3)
A(3) @ A(3)
A(5, 2, 3) @ A(5, 3, 4)
F.linear(A(5, 2, 3), A(4, 3), A(4))
torch.addmm(A(2, 4), A(2, 3), A(3, 4))
torch.baddbmm(A(5, 2, 4), A(5, 2, 3), A(5, 3, 4))
torch.einsum('bij,bjk->bik', A(5, 2, 3), A(5, 3, 4))
torch.tensordot(A(2, 3), A(3, 4), 1)
torch.linalg.multi_dot([A(2, 3), A(3, 4), A(4, 5)])
torch.linalg.matrix_power(A(3, 3), 3)
F.conv1d(A(2, 3, 8), A(4, 3, 3))
F.conv2d(A(2, 4, 8, 8), A(6, 2, 3, 3), A(6), stride=2, padding=1, groups=2)
F.conv2d(A(2, 4, 8, 8).detach(), A(6, 4, 3, 3))
F.conv_transpose2d(A(2, 4, 5, 5), A(4, 6, 3, 3), stride=2)
F.conv3d(A(1, 2, 4, 4, 4), A(3, 2, 2, 2, 2))
F.scaled_dot_product_attention(A(2, 3, 4, 8), A(2, 3, 5, 8), A(2, 3, 5, 8))
torch.outer(A(3), A(4))
nn.GRU(3, 4)(A(2, 1, 3))[0]
nn.RNN(3, 4, num_layers=2)(A(2, 1, 3))[0]
nn.Embedding(5, 3)(torch.tensor([1]))
nn.Bilinear(3, 4, 5)(A(2, 3), A(2, 4))
nn.MultiheadAttention(8, 2)(A(4, 2, 8), A(4, 2, 8), A(4, 2, 8))[0]
nn.TransformerEncoderLayer(8, 2, 16)(A(4, 2, 8))
nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Sequential(nn.Linear(4, 2), nn.Tanh()))(A(5, 3))
nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(144, 2))(torch.ones(1, 3, 8, 8))
""".strip().splitlines()


def counted(torch, code):
    """Module -> operation -> its floating-point operations, forward and backward."""
    utils = f"{torch.__package__}.utils" if torch.__package__ else "torch.utils"
    mode = importlib.import_module(f"{utils}.flop_counter").FlopCounterMode(display=False)
    scope = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional}
    scope["A"] = lambda *shape: torch.ones(*shape, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with mode:
            eval(code, scope).sum().backward()
    assert mode.get_total_flops() == sum(mode.get_flop_counts().get("Global", {}).values())
    return {name: {str(op): n for op, n in counts.items()} for name, counts in mode.get_flop_counts().items()}


if __name__ == "__main__":
    record(EXPECTED, CASES, counted)

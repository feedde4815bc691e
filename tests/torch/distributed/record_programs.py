"""What the programs do on 2 and 4 processes of PyTorch (gloo), written to programs.json.

.venv-conformance/bin/python tests/torch/distributed/record_programs.py [PROGRAM ...]
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
EXPECTED = HERE / "programs.json"
SIZES = (2, 4)
ELSEWHERE = {"joined_norm"}
"""PyTorch has no SyncBatchNorm without a GPU: its reference is below."""


def observed(program: str, size: int) -> list[Any]:
    """Return what each rank left."""
    with tempfile.TemporaryDirectory() as folder:
        words = ["-m", "torch.distributed.run", f"--nproc-per-node={size}", "--standalone"]
        words += [str(HERE / "observe.py"), folder, str(HERE / "programs" / f"{program}.py")]
        env = {**os.environ, "OMP_NUM_THREADS": "1"}
        for _ in range(3):  # gloo's threads now and then abort a process that is ending
            if subprocess.run([sys.executable, *words], env=env).returncode == 0:
                break
        return [json.loads((Path(folder) / f"{program}.{rank}.json").read_text()) for rank in range(size)]


def on_one_process(size: int) -> list[Any]:
    """`joined_norm` with BatchNorm over the batch of all ranks: the loss of a rank is that of its part, the gradient
    the mean of the ranks'."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(64, 3), nn.BatchNorm1d(3)
    )
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    losses: list[list[float]] = [[] for _ in range(size)]
    for _ in range(3):
        x, y = torch.randn(size * 4, 2, 6, 6), torch.randn(size * 4, 3)
        parts = (net(x) - y).pow(2).reshape(size, -1).mean(1)
        optimizer.zero_grad()
        parts.mean().backward()
        optimizer.step()
        for kept, part in zip(losses, parts.tolist(), strict=True):
            kept.append(part)
    buffers = [b.sum().item() for b in net.buffers()]
    gradients = {f"module.{name}": p.grad.tolist() for name, p in net.named_parameters()}
    return [{"losses": kept + buffers, "gradients": gradients} for kept in losses]


def main(wanted: list[str]) -> None:
    """Write the records of the programs that are named, or of all."""
    found = json.loads(EXPECTED.read_text()) if EXPECTED.exists() else {}
    for path in sorted((HERE / "programs").glob("*.py")):
        program = path.stem
        if not wanted or program in wanted:
            for size in SIZES:
                ranks = on_one_process(size) if program in ELSEWHERE else observed(program, size)
                found[f"{program} on {size}"] = ranks
    lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(found[key])}" for key in sorted(found))
    EXPECTED.write_text("{\n" + lines + "\n}\n")


if __name__ == "__main__":
    main(sys.argv[1:])

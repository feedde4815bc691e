"""Numbers written into tensors of each dtype, by kinds of index: `python -m tests.torch.core.running.record_assigned` records it."""

import itertools
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np

EXPECTED = Path(__file__).with_name("assigned.json")

DTYPES = ("float32", "float64", "int64", "uint8", "bool", "complex64")
VALUES = """
torch.tensor(2)
torch.tensor(2.5)
torch.tensor(2.5, dtype=torch.float64)
torch.tensor(True)
torch.tensor(1j)
torch.tensor(1 + 0j)
torch.tensor(300)
torch.tensor([2])
torch.tensor([2.5])
torch.tensor([1j])
torch.tensor([2, 3])
2
2.5
True
1j
1e300
300
-1
float("nan")
np.float64(2.5)
np.int64(3)
np.float32(1)
np.array(2)
""".strip().split("\n")
WRITES = """
t[[0, 1]] = v
t[torch.tensor([0, 1])] = v
t[torch.tensor([True, False, True])] = v
t[None, torch.tensor([True, False, True])] = v
t[..., torch.tensor([0, 1])] = v
t[[True, False, True]] = v
t[np.array([0, 1])] = v
t[torch.tensor([1, 0, 1], dtype=torch.uint8)] = v
t[:2] = v
t[0] = v
t[torch.tensor(0)] = v
t[...] = v
t.index_put_((torch.tensor([0, 1]),), v)
t.index_put_((torch.tensor([0, 1]),), v, accumulate=True)
t.index_put_((torch.tensor([True, False, True]),), v)
t.index_put_((torch.tensor([True, False, True]),), v, accumulate=True)
t = t.index_put((torch.tensor([True, False, True]),), v)
t.masked_fill_(torch.tensor([True, False, True]), v)
t.fill_(v)
t.index_fill_(0, torch.tensor([0]), v)
t.put_(torch.tensor([0]), v)
t.copy_(v)
""".strip().split("\n")


def played(torch: Any, dtype: str, value: str, write: str) -> str:
    """The elements left, or the error."""
    names: dict[str, Any] = {"torch": torch, "np": np}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(f"t = torch.ones(3).to(torch.{dtype}); v = {value}; {write}", names)
        except Exception as error:
            return f"{type(error).__name__}: {str(error).splitlines()[0][:60]}"
    return f"{names['t'].tolist()} {names['t'].dtype}"


def observe(torch: Any) -> dict[str, dict[str, str]]:
    """By dtype and write, and by value, what is left."""
    return {
        f"{dtype}: {write}": {value: played(torch, dtype, value, write) for value in VALUES}
        for dtype, write in itertools.product(DTYPES, WRITES)
    }


if __name__ == "__main__":
    import torch

    EXPECTED.write_text(json.dumps(observe(torch), indent=0) + "\n")

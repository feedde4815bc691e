"""Writes autocast.json: the calls that PyTorch's own tests make under autocast on a GPU, and the dtype of each result.

python tests/strict_array/record_autocast.py        beside an installed PyTorch
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("autocast.json")
LACKING = ("_convolution", "conv_tbc", "cudnn_convolution", "cudnn_convolution_transpose", "margin_ranking_loss")
"""Functions without a public name, those that only a GPU of PyTorch's has, and one whose arguments do not fit."""
NAMESPACES = {"torch": "torch", "linalg": "torch.linalg", "methods": "torch.Tensor"}


def described(x: Any) -> Any:
    """An argument as JSON: a tensor by its dtype, shape and, of integers, elements."""
    import torch

    if isinstance(x, torch.Tensor):
        elements = None if x.dtype.is_floating_point else x.flatten().tolist()
        return {"dtype": str(x.dtype).removeprefix("torch."), "shape": list(x.shape), "elements": elements}
    if isinstance(x, (tuple, list)):
        return [described(each) for each in x]
    return x


def calls() -> list[dict[str, Any]]:
    """The rows of the lists, each with the dtype that its result has."""
    import torch
    from torch.testing._internal.autocast_test_lists import AutocastTestLists

    torch.manual_seed(0)
    found = []
    for title, rows in vars(AutocastTestLists("cpu")).items():
        kind, _, group = title.partition("_")
        if group == "expect_builtin_promote":
            continue
        for name, args, *rest in rows:
            options = rest[0] if rest and isinstance(rest[0], dict) else {}
            expected = {"fp16": "float16", "fp32": "float32", "need_autocast_promote": "float32"}.get(group)
            namespace = NAMESPACES.get(kind, "torch.nn.functional")
            short = name.removeprefix("linalg_").replace("nll_loss2d", "nll_loss")
            if isinstance(args, tuple) and name not in LACKING:
                row = {"name": short, "in": namespace, "args": described(args), "kwargs": options, "dtype": expected}
                found.append(row)
    return found


if __name__ == "__main__":
    FILE.write_text("[\n" + ",\n".join(json.dumps(row) for row in calls()) + "\n]\n")

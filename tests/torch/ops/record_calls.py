"""Writes calls.json: what PyTorch makes of the calls in calls.txt.

`python -m tests.torch.ops.record_calls`, where PyTorch is installed.
"""

import json

from tests.torch.ops.calls import EXPECTED, ROWS, observe, recorded


def main():
    import torch

    rows = ROWS.read_text(encoding="utf-8").splitlines()
    found = {row: recorded(observe(torch, row)) for row in rows}
    lines = ",\n".join(f"{json.dumps(row)}: {json.dumps(told)}" for row, told in found.items())
    EXPECTED.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    main()

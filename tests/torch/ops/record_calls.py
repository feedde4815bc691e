"""Writes calls.json: what PyTorch makes of the calls in calls.txt.

`python -m tests.torch.ops.record_calls`, where PyTorch is installed.
"""

from tests.torch.ops.calls import EXPECTED, ROWS, observe, recorded
from tests.torch.recording import record

if __name__ == "__main__":
    record(EXPECTED, ROWS.read_text(encoding="utf-8").splitlines(), lambda torch, row: recorded(observe(torch, row)))

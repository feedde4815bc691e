"""What the scripts share that write down what PyTorch does."""

import json
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any


def written(path: Path, rows: dict[str, Any]) -> None:
    """Write a JSON object with a line for each row."""
    path.write_text("{\n" + ",\n".join(f"{json.dumps(key)}: {json.dumps(row)}" for key, row in rows.items()) + "\n}\n")
    print(f"{len(rows)} rows in {path.name}")


def record(path: Path, cases: Iterable[str], observe: Callable[[Any, str], Any]) -> None:
    """Write what `observe` sees of each case with PyTorch."""
    import torch

    warnings.simplefilter("ignore")
    written(path, {case: observe(torch, case) for case in cases})

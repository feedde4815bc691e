"""Writes cupy.json: the public names of CuPy and their parameters, which hold the stand-in to what CuPy has.

python tests/strict_array/record_cupy.py        beside an installed CuPy; it needs no GPU
"""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("cupy.json")
FOLDERS = ("linalg", "fft", "lib.stride_tricks")


def parameters(function: Any) -> str | None:
    """The parameters of a function, their defaults as text: from its signature, or the first line of its docs."""
    try:
        given = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        found = re.match(r"[\w.]+\((.*?)\)( ->|$)", (function.__doc__ or "").split("\n")[0])
        text = found.group(1) if found else None
        return None if text is None else re.sub(r"\b\w+ (?=\w+ *(,|=|$))", "", text)
    plain = [
        p.replace(annotation=p.empty, default=p.default if p.default is p.empty else Default(p.default)) for p in given
    ]
    return str(inspect.Signature(plain))[1:-1]


class Default:
    """A default, shown without its module."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return repr(self.value) if isinstance(self.value, (bool, int, float, str, type(None), tuple)) else "..."


def functions(module: Any) -> dict[str, str]:
    found = {name: parameters(x) for name, x in vars(module).items() if callable(x) and not isinstance(x, type)}
    return {name: text for name, text in sorted(found.items()) if text is not None and not name.startswith("_")}


def known() -> dict[str, Any]:
    """Return what is recorded of the installed CuPy."""
    import cupy  # type: ignore[import-not-found, unused-ignore]

    universal = {name: x for name, x in sorted(vars(cupy).items()) if isinstance(x, cupy.ufunc)}
    members = {name: getattr(cupy.ndarray, name) for name in dir(cupy.ndarray) if not name.startswith("_")}
    methods = {name: text for name, x in members.items() if callable(x) and (text := parameters(x)) is not None}
    folders = {}
    for folder in FOLDERS:
        module = cupy
        for name in folder.split("."):
            module = getattr(module, name)
        folders[folder] = functions(module)
    return {
        "functions": {n: text for n, text in functions(cupy).items() if n not in universal},
        "folders": folders,
        "universal": {n: list(x.types) for n, x in universal.items()},
        "universal with at": [n for n, x in universal.items() if getattr(x, "_scatter_op", None)],
        "methods": methods,
        "attributes": sorted(name for name, x in members.items() if not callable(x)),
        "special methods": [
            n
            for n in dir(cupy.ndarray)
            if n.startswith("__") and callable(getattr(cupy.ndarray, n)) and "buffer" not in n
        ],
    }


if __name__ == "__main__":
    import cupy

    FILE.write_text(json.dumps({"version": cupy.__version__, **known()}, indent=1, sort_keys=True) + "\n")

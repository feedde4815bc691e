"""Runs each script in sessions/ with real PyTorch and keeps what it prints: `python tests/torch/nn/record_sessions.py`.

A script finds `torch`, `nn` and `attempt(f)`, which prints what `f` returns, or its error, and the warnings on the way.
"""

import contextlib
import copy
import io
import pickle
import warnings
from collections import OrderedDict
from pathlib import Path

SESSIONS = Path(__file__).with_name("sessions")


def attempt(f):
    """Print what a call gives: its value, or its error."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            print("gives", f())
        except Exception as error:
            print(type(error).__name__, "-", str(error).splitlines()[0].partition(". ")[0])
    for warning in seen:
        print("  warns:", str(warning.message).partition(". ")[0])


def names(graph_root):
    """The names of all nodes from one on, breadth first, each once."""
    nodes = [graph_root]
    for node in nodes:
        nodes += [n for n, _ in node.next_functions if n is not None and n not in nodes]
    return " ".join(node.name().rpartition("::")[2].replace("Backward", "") for node in nodes)


def transcript(torch, path):
    """Return what a session prints."""
    given = {
        "torch": torch,
        "nn": torch.nn,
        "attempt": attempt,
        "names": names,
        "copy": copy,
        "pickle": pickle,
        "OrderedDict": OrderedDict,
        "__name__": "session",
    }
    out = io.StringIO()
    with contextlib.redirect_stdout(out), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(path.read_text(), str(path), "exec"), given)
    return out.getvalue()


def main():
    import torch

    for path in sorted(SESSIONS.glob("*.py")):
        path.with_suffix(".out").write_text(transcript(torch, path))
        print(path.stem)


if __name__ == "__main__":
    main()

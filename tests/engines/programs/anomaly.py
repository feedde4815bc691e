"""In anomaly mode a node knows the traceback of its forward call: the frames of the script, and of nobody else."""

import importlib
import re
import sys
import tempfile
from pathlib import Path

import torch

x = torch.ones(2, requires_grad=True)


def doubled(given):
    return given * 2


def last(node):
    """The functions that the traceback names, from those of the innermost file of the script on."""
    names = re.findall(r", in (\S+)\n", "".join(node.metadata["traceback_"]))
    return names[len(names) - 1 - names[::-1].index("<module>") :]


with tempfile.TemporaryDirectory() as folder, torch.autograd.set_detect_anomaly(True):
    print(last(doubled(x).grad_fn), last(x.exp().grad_fn), last((x @ x).grad_fn))
    Path(folder, "computes_when_imported.py").write_text("import __main__ as m\nfound = (m.doubled(m.x) + 1).sum()\n")
    sys.path.append(folder)
    sys.modules["__main__"].doubled, sys.modules["__main__"].x = doubled, x
    found = importlib.import_module("computes_when_imported").found
    print(last(found.grad_fn), last(found.grad_fn.next_functions[0][0].next_functions[0][0]))
    print("_gcd_import" in "".join(found.grad_fn.metadata["traceback_"]))
    found.backward()
    sys.path.remove(folder)
print(x.grad)

"""Runs scripts that are named on standard input, plainly and in every way of recording that is named before them, and
tells how each ended, a line of JSON each.

All run in children of this process, which has imported already what takes longer than most scripts, and the modules
that are named as arguments.
"""

import contextlib
import functools
import hashlib
import importlib
import json
import os
import random
import re
import sys
import tempfile
import types
from pathlib import Path

import numpy as np
import torch

import autograph_cli.engines.pytorch.connection
import autograph_cli.record.recorder
import autograph_cli.torch  # noqa: F401  the table of operations
from autograph_cli.cli import main
from autograph_cli.record.run.runner import FAILED

BENEATH = re.compile(r'  File "(<frozen importlib|.*(tests/engines/beside|/autograph_cli/)).*", line .*\n(    .*\n)*')
"""Frames beneath a script, in tracebacks that PyTorch prints."""
STAMP = re.compile(r"^([A-Z]\d{4}) \d\d:\d\d:\d\d\.\d+ \d+ ", re.MULTILINE)
"""The time and the process in a line of PyTorch's log."""


def plainly(words: list[str]) -> int:
    """Run a script as Python does; its exit code."""
    path, sys.argv = words[0], words
    sys.path[0] = os.path.dirname(path)
    module = sys.modules["__main__"] = types.ModuleType("__main__")
    module.__file__ = path
    try:
        exec(compile(Path(path).read_bytes(), path, "exec", dont_inherit=True), vars(module))
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__ and error.__traceback__.tb_next)
        return FAILED
    return 0


def recorded(way: list[str], words: list[str]) -> int:
    """The same under autograph."""
    sys.argv = ["autograph", *way, "--engine", "torch", *words]
    try:
        main()
    except SystemExit as ended:
        return int(ended.code or 0)


def state() -> dict[str, str]:
    """Return what a script leaves, as digests: random streams, and the bits and nodes of what its variables hold."""
    found = {
        "random": repr(random.getstate()),
        "numpy": repr(
            [part if isinstance(part, (int, float, str)) else part.tolist() for part in np.random.get_state()]
        ),
        "torch": bits(torch.get_rng_state()),
        "modes": repr((torch.is_grad_enabled(), torch.get_default_dtype(), torch.is_anomaly_enabled())),
    }
    for name, value in sorted(vars(sys.modules["__main__"]).items()):
        if isinstance(value, torch.nn.Module):
            found |= {f"{name}.{path}": tensor(x) for path, x in [*value.named_parameters(), *value.named_buffers()]}
        elif isinstance(value, torch.Tensor):
            found[name] = tensor(value)
    return {name: hashlib.sha1(text.encode()).hexdigest()[:12] for name, text in found.items()}


def tensor(x: torch.Tensor) -> str:
    """The bits of a tensor and of its gradient, and the names of the nodes behind it."""
    nodes, names = [x.grad_fn], []
    while nodes and len(names) < 1000:
        if (node := nodes.pop()) is not None:
            names.append(node.name())
            nodes += [following for following, _ in node.next_functions]
    return repr((type(x), bits(x), bits(x.grad) if x.is_leaf else "", names))


def bits(x: torch.Tensor | None) -> str:
    """The bits of a tensor, where it has its own."""
    if x is None:
        return ""
    with torch._C.DisableTorchFunction(), torch.no_grad():
        try:
            return f"{x.dtype} {tuple(x.shape)} {x.detach().cpu().contiguous().reshape(-1).view(torch.uint8).tolist()}"
        except (NotImplementedError, RuntimeError):  # of a layout without
            return re.sub("0x[0-9a-f]+", "", repr(x))


def child(run, words: list[str], folder: str) -> tuple[int, str]:
    """Fork; the child runs the script in a folder of its own and ends. Its process id, and where its output goes."""
    os.mkdir(folder)
    process = os.fork()
    if process:
        return process, folder
    os.chdir(folder)
    for number in (1, 2):
        os.dup2(os.open(f"../{os.path.basename(folder)}.{number}", os.O_CREAT | os.O_WRONLY), number)
    random.seed(0)
    np.random.seed(0)
    code = 99
    with contextlib.suppress(BaseException):
        code = run(words)
        print(json.dumps(state()), flush=True)
        sys.stderr.flush()
    os._exit(code)


def ended(process: int, folder: str) -> dict[str, object]:
    """Return how a child ended, and what it printed."""
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    out, err = (Path(f"{folder}.{number}").read_text() for number in (1, 2))
    files = sorted(set(os.listdir(folder)) - {"trace.json"})
    return {"code": code, "out": out, "err": STAMP.sub(r"\1 ", BENEATH.sub("", err)), "files": files}


for name in sys.argv[1:]:
    importlib.import_module(name)
for line in sys.stdin:
    with tempfile.TemporaryDirectory() as folder:
        ways, words = json.loads(line)
        runs = [plainly, *[functools.partial(recorded, way) for way in ways]]
        children = [child(run, words, f"{folder}/{number}") for number, run in enumerate(runs)]
        print(json.dumps([ended(*each) for each in children]), flush=True)

"""Records one script in a process of its own.

The request is JSON that names the script. The answer goes into the file that is stdin: it has no name, so nothing stays
behind, whatever ends the process.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from autograph_cli import AutographError, engines
from autograph_cli.engines import connect
from autograph_cli.graph import Trace, from_json, to_json
from autograph_cli.record.log.data import DATA
from autograph_cli.record.names.variables import tensors_in
from autograph_cli.record.recorder import Recorder
from autograph_cli.record.run import runner
from autograph_cli.testing import seeds, sweeps
from autograph_cli.testing.dtypes import drawn_alike

_FEW = 16
"""The most elements of a tensor that are written out; of more, a summary."""
_END = b"\n"
"""Ends an answer that is whole."""


class RecordingError(AutographError):
    """A script that failed, or left nothing to look at."""


class Recording(Struct, frozen=True):
    """The result of one run: its trace, and lines on values and formulas where these were asked for."""

    trace: Trace
    values: tuple[str, ...] = ()
    formulas: tuple[str, ...] = ()


def record(
    script: Path,
    arguments: Sequence[str] = (),
    *,
    steps: str = "first,last",
    extras: Sequence[str] = (),
    measured: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    name: str = "",
    engine: str = "builtin",
    module: str = "",
    seed: int | None = None,
    executable: str = "",
    dtype: str = "",
) -> Recording:
    """Run a script in a process of its own, in `folder`; raises `RecordingError` with its last words if it fails.

    `measured` is what is recorded beside the graph, as `--record` takes it; `environment` are variables that it is
    given; `executable` is another Python that runs it, `dtype` the one that tensors have unless told. With `module` the
    script is run as `python -m` does, from the folder that its package is in. `seed` is the one that it begins
    with; those that it sets are moved by as much.
    """
    label = name or str(script)
    engine = engines.chosen(engine)
    if not executable:
        engines.check(engine)
    asked = {
        "script": module or str(script), "module": bool(module), "arguments": list(arguments), "steps": steps,
        "extras": list(extras), "measured": list(measured), "environment": dict(environment or {}), "engine": engine,
        "seed": seed, "dtype": dtype,
    }  # fmt: skip
    with (
        tempfile.TemporaryFile() as file,
        sweeps.child(__name__, [json.dumps(asked)], folder, file, executable or sys.executable) as process,
    ):
        said = process.communicate()[0]
        file.seek(0)
        told = file.read()
    if not told.endswith(_END):
        raise RecordingError(f"{label} ended before its graph was read: {_last_words(process.returncode, said)}")
    found = json.loads(told)
    if found["exit_code"]:
        raise RecordingError(f"{label} failed: {found['failure'] or _last_words(process.returncode, said)}")
    trace = from_json(found["trace"], label)
    if not trace.steps:
        raise RecordingError(f"{label} built no graph: no tensor that requires grad was used.")
    return Recording(trace, tuple(found["values"]), tuple(found["formulas"]))


def _last_words(status: int, said: str) -> str:
    lines = said.strip().splitlines()
    return lines[-1] if lines else f"exit status {status}"


def main() -> None:
    """Do what the request on the command line says; the script's output goes where it goes, and it reads nothing."""
    position = os.dup(0)
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    told = answer(sys.argv[1])
    with open(position, "wb") as file:
        file.write(told.encode() + _END)


def answer(request: str) -> str:
    """Return what came of the script that a request names."""
    asked = json.loads(request)
    os.environ.update(asked["environment"])
    target = runner.Target.of(asked["script"], tuple(asked["arguments"]), module=asked["module"])
    if asked["seed"] is not None:
        seeds.move(asked["engine"], asked["seed"])
    with drawn_alike(asked["engine"], asked["dtype"]):
        result, trace = recorded(target, asked["steps"], asked["engine"], asked["measured"])
    extras = asked["extras"]
    found = {
        "exit_code": result.exit_code,
        "failure": result.failure,
        "trace": to_json(trace),
        "values": list(value_lines(result.scope, connect(asked["engine"]).tensor)) if "values" in extras else [],
        "formulas": list(formula_lines(trace)) if "formulas" in extras else [],
    }
    return json.dumps(found)


def recorded(
    target: runner.Target, steps: str, engine: str = "builtin", measured: Sequence[str] = ()
) -> tuple[runner.Result, Trace]:
    """Run a script in this process; its inputs tell their numbers, or how they were drawn."""
    recorder = Recorder(steps, target.label, record=(*measured, DATA), engine=connect(engine))
    return runner.record(target, steps, recorder=recorder, engine=engine)


def value_lines(scope: Mapping[str, Any], tensor: type) -> Iterator[str]:
    """`loss = 0.25` and `w.grad = [1, 2]`: the values of the script's results, and the gradients of its leaves."""
    met: set[int] = set()
    for name, value in list(scope.items()):
        if name.startswith("_"):
            continue
        for path, x in tensors_in(name, value, cls=tensor):
            if id(x) in met:
                continue
            met.add(id(x))
            if x.grad_fn is not None:
                yield f"{path} = {value_text(x)}"
            elif x.requires_grad and x.grad is not None:
                yield f"{path}.grad = {value_text(x.grad)}"


def value_text(x: Any) -> str:
    """The elements of a small tensor, else its mean, norm, least and greatest element."""
    if x.is_meta:
        return "none on the device meta"
    x = x.detach().flatten()
    if x.numel() > _FEW and x.is_floating_point():
        x = x.double()
        numbers = {"mean": x.mean(), "norm": (x * x).sum().sqrt(), "min": x.min(), "max": x.max()}
        return ", ".join(f"{word} {float(number):.6g}" for word, number in numbers.items())
    shown = [f"{item:.6g}" if isinstance(item, float) else str(item) for item in x.tolist()[:_FEW]]
    return f"[{', '.join(shown)}{', ...' if x.numel() > _FEW else ''}]"


def formula_lines(trace: Trace) -> Iterator[str]:
    """`mul = self: grad * other; other: grad * self` for each operation of the engine that is in the trace."""
    from autograph_cli.torch._core.operations.operation import table  # the engine, where formulas are asked for

    graphs = [graph for step in trace.steps for graph in (step.graph, step.double) if graph is not None]
    used = {(node.op, node.name) for graph in graphs for node in graph if node.op}
    for operation in sorted(table.values(), key=lambda operation: operation.identifier):
        if (operation.name, operation.node.__name__) in used and operation.derivatives:
            texts = [f"{entry.name}: {operation.formula_text(entry.name)}" for entry in operation.inputs]
            yield f"{operation.identifier} = {'; '.join(texts)}"

"""Runs an expression, reads the formulas that are printed of it, and says whether they hold."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from autograph_cli.formulas import Formula, FormulaError, formulas_of
from autograph_cli.record.recorder import Recorder
from tests.formulas.expressions import DATA, TENSORS
from tests.formulas.printed import Unreadable, read

Arrays = Mapping[str, Any]
LEAVES = {name: np.asarray(value, float) for name, value in TENSORS.items()}


def judged(expression: str, torch: Any, options: Mapping[str, Any]) -> tuple[str, list[str]]:
    """`right`, `wrong`, or `` where a formula is not printed or not readable; and what was printed.

    The loss is compared with the script's, derivatives with finite differences (of a script that detaches, with what
    the engine found), and every other name with the script's tensor.
    """
    script, used = _script(f"{expression}\nloss.backward()", torch, LEAVES)
    recorder = Recorder("all", "script.py", **options)
    recorder.start()
    scope: dict[str, Any] = {}
    try:
        scope = script()
    finally:
        trace = recorder.finish(dict(scope))
    try:
        found = formulas_of(trace.steps[-1].graph)
    except FormulaError:
        return "", []
    stops = re.search("detach|no_grad", expression)
    slopes = {name: scope[name].grad.numpy() for name in used if scope[name].grad is not None}
    slopes = slopes if stops else {name: _slope(expression, torch, name) for name in slopes}
    verdicts = _verdicts(found, scope, slopes, torch)
    needed = {"loss", *(f"dloss/d{name}" for name in slopes)}
    if "wrong" in verdicts.values():
        return "wrong", [str(each) for each in found]
    right = all(verdicts.get(name) == "right" for name in needed)
    return "right" if right else "", [str(each) for each in found]


def _script(code: str, torch: Any, leaves: Arrays) -> tuple[Callable[[], dict[str, Any]], list[str]]:
    words = set(re.findall(r"\w+", code))
    used = [name for name in TENSORS if name in words]
    lines = [
        f"{name} = torch.tensor({leaves[name].tolist()!r}, dtype=torch.float64, requires_grad=True)" for name in used
    ]
    lines += [f"{name} = {made}" for name, made in DATA.items() if name in words]
    made = {"torch": torch, "F": torch.nn.functional, "grad": torch.autograd.grad, "Cube": _cube(torch)}
    exec(f"def script():\n{textwrap.indent(chr(10).join([*lines, code]), '    ')}\n    return locals()", made)
    return made["script"], used


def _cube(torch: Any) -> Any:
    class Cube(torch.autograd.Function):  # type: ignore[misc,name-defined]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (x,) = ctx.saved_tensors
            return 3 * x**2 * grad

    return Cube


def _slope(expression: str, torch: Any, name: str, step: float = 1e-5) -> Any:
    """The derivative of the loss by a tensor, from finite differences."""
    found = np.zeros_like(LEAVES[name])
    for index in np.ndindex(found.shape):
        for sign in (1, -1):
            moved = {each: value.copy() for each, value in LEAVES.items()}
            moved[name][index] += sign * step
            loss = _script(expression, torch, moved)[0]()["loss"]
            found[index] += sign * float(loss.detach()) / (2 * step)
    return found


def _verdicts(found: tuple[Formula, ...], scope: Mapping[str, Any], slopes: Arrays, torch: Any) -> dict[str, str]:
    known = {name: x.detach().numpy() for name, x in scope.items() if isinstance(x, torch.Tensor)}
    names = [formula.name for formula in found]
    verdicts: dict[str, str] = {}
    for formula in found:
        try:
            with np.errstate(all="ignore"):
                value = read(formula.text, known)
        except Unreadable:
            continue
        for part in formula.name.split(" = "):
            expected = slopes.get(part.removeprefix("dloss/d")) if part.startswith("dloss/d") else None
            if expected is None and part in known and f"{part} (2)" not in names:
                expected = known[part]
            if expected is not None:
                verdicts[part] = "right" if _equal(value, expected) else "wrong"
            else:
                known[part] = np.asarray(value)
    return verdicts


def _equal(value: Any, expected: Any) -> bool:
    try:
        return bool(np.allclose(np.broadcast_to(value, np.shape(expected)), expected, rtol=1e-4, atol=1e-6))
    except ValueError:
        return False

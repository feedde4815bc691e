"""The steps of a run as a table: which backward calls ended them, which are kept, and how often optimizers stepped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from autograph_cli.graph.facts import nanoseconds_text
from autograph_cli.graph.ledger import Ledger
from autograph_cli.graph.names import visible
from autograph_cli.graph.records import Pass, Source
from autograph_cli.graph.trace import Step, StepKind, Trace

_HEAD = ("step", "line", "call", "roots", "nodes", "passes", "time", "")
_KINDS = ("steps", "line", "call", "roots", "nodes", "first", "last", "")


def rows(trace: Trace) -> list[dict[str, Any]]:
    """Return what there is to know of each step that was kept, by name."""
    return [_row(trace, step) for step in trace.steps]


def kinds(trace: Trace) -> list[dict[str, Any]]:
    """Return what there is to know of each kind of step, by name; the steps count from 1."""
    return [
        {
            "steps": kind.count,
            "line": _line(kind.source, kind.caller if _same_line(trace, kind) else None),
            "call": kind.call,
            "roots": list(kind.roots),
            "nodes": kind.nodes,
            "first": kind.first + 1,
            "last": kind.last + 1,
            "trains": kind.stepped,
        }
        for kind in trace.kinds
    ]


def optimizers(trace: Trace) -> list[str]:
    """Return how many backward calls each optimizer takes a step for, as far as the ledger tells."""
    return [] if trace.ledger is None else list(_turns(trace.ledger))


def to_text(trace: Trace) -> str:
    """Return the tables as text."""
    total, kept = trace.ended, len(trace.steps)
    after = total < trace.total_steps
    lines = [f"{trace.script}: {total:,} step{'s' * (total != 1)}, {kept - after} kept{', and what ran after' * after}"]
    found = [{**row, "": "trains" if row["trains"] else ""} for row in kinds(trace)]
    if found:
        lines += ["", *_table(_KINDS, found)]
    if kept:
        main = trace.main_step()
        marks = {total + 1: "after the last step"}
        if main is not None:
            marks[trace.differentiated_again(main).nth] = "shown as double backward"
            marks[main.nth] = "shown unless told"
        told = [{**row, "": marks.get(row["step"], "")} for row in rows(trace)]
        lines += ["", "kept:", *_table(_HEAD, told)]
    said = optimizers(trace)
    lines += ["", *said] if said else []
    return "".join([f"{visible(line)}\n" for line in lines])


def _row(trace: Trace, step: Step) -> dict[str, Any]:
    last = _last_pass(step)
    kind = trace.kind_of(step)
    names = {(root.node, root.nr): root.name for root in step.graph.roots}
    roots = [names.get((edge.node, edge.nr), "") for edge in last.roots] if last else []
    return {
        "step": step.nth,
        "line": _line(last.source if last else None, kind.caller if kind and _same_line(trace, kind) else None),
        "call": last.call if last else "",
        "roots": [name for name in roots if name],
        "nodes": len(last.ran) if last else sum(node.kind == "operation" for node in step.graph),
        "passes": len(step.passes),
        "time": None if step.profile is None else step.profile.wall,
    }


def _last_pass(step: Step) -> Pass | None:
    passes = step.passes
    return passes[-1] if passes else None


def _line(source: Source | None, caller: Source | None) -> str:
    if source is None:
        return ""
    return f"{source.file}:{source.line}" + (f" from {caller.file}:{caller.line}" if caller else "")


def _same_line(trace: Trace, kind: StepKind) -> bool:
    """Return whether another kind is of the same line, so that the caller tells them apart."""
    return sum(each.source == kind.source for each in trace.kinds) > 1


def _table(head: Sequence[str], found: Sequence[dict[str, Any]]) -> Iterator[str]:
    # A pass runs leaves too, which the number of nodes that a run tells leaves out.
    lines = [
        tuple("ran" if name == "nodes" else name for name in head),
        *([_cell(name, row[name]) for name in head] for row in found),
    ]
    used = [n for n, name in enumerate(head) if any(line[n] for line in lines[1:])]
    widths = {n: max(len(line[n]) for line in lines) for n in used}
    for line in lines:
        yield "  ".join(line[n].ljust(widths[n]) for n in used).rstrip()


def _cell(name: str, value: Any) -> str:
    if value is None:
        return ""
    if name == "time":
        return nanoseconds_text(value)
    return ", ".join(value) if isinstance(value, list) else f"{value:,}" if isinstance(value, int) else str(value)


def _turns(ledger: Ledger) -> Iterator[str]:
    for number, optimizer in enumerate(ledger.optimizers):
        name = optimizer.name or optimizer.cls
        held, passes, counts, within = set[int](), 0, Counter[int](), False
        for each in ledger.happenings:
            if each.kind == "step" and each.optimizer == number:
                held |= set(ledger.parameters_of(each.given))
        for each in ledger.happenings:
            if each.kind == "backward" and not each.failed:
                passes += not held.isdisjoint(ledger.parameters_of(each.given))
            elif each.kind == "zero_grad" and held <= set(ledger.parameters_of(each.given)):
                passes = 0
            elif each.kind == "step" and each.optimizer == number:
                within |= each.closure
                counts[passes] += 1
                passes = 0
        many = " or ".join(map(str, sorted(counts)))
        if within:
            yield f"{name}: passes run within its steps"
        elif many:
            yield f"{name}: each of its steps takes the gradients of {many} backward pass{'es' * (many != '1')}"

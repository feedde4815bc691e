"""All rules on all steps of a trace: the findings in order of importance, each once."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from msgspec.structs import replace

from autograph_cli.findings import (
    asides,
    derivatives,
    failures,
    hooks,
    independence,
    last_layer,
    linear,
    losses,
    masks,
    missing,
    modes,
    numbers,
    over_time,
    raised,
    reshaped,
    scales,
    shapes,
    stages,
    steps,
    stuck,
    targets,
    terms,
    training,
    training_gradients,
    training_steps,
    waste,
)
from autograph_cli.findings.records import Finding, Found, Rule, Seen
from autograph_cli.graph import Graph, Step, Trace
from autograph_cli.record.names.bindings import Script

_MODULES = (
    asides, derivatives, failures, hooks, independence, last_layer, linear, losses, masks, missing, modes, numbers,
    over_time, raised, reshaped, scales, shapes, stages, steps, stuck, targets, terms, training, training_gradients,
    training_steps, waste,
)  # fmt: skip
RULES: tuple[Rule, ...] = tuple(
    sorted((rule for module in _MODULES for rule in module.RULES), key=lambda rule: rule.code)
)
"""By importance; the first digit of a code is its family."""
_NUMBERS = re.compile(r"%\d+|(?<=\d)\[[\d, ]*\]|(?<![\w.:\[])-?\d[\d.]*(?:e[+-]?\d+)?")
"""The parts that differ from step to step: numbers of nameless tensors, sizes, and values."""
_IGNORED = re.compile(r"#\s*autograph:\s*ignore(?:\[([\w\s,]*)\])?")


def explain(
    trace: Trace,
    scripts: Mapping[str, Script] | None = None,
    *,
    select: Collection[str] = (),
    ignore: Collection[str] = (),
    at: int | None = None,
) -> list[Finding]:
    """Return what is found in a trace; `select` and `ignore` are codes or beginnings of codes, such as `AG1`.

    What is found in several steps is told of the first, or of step `at`.

    A line with the comment `# autograph: ignore[AG101]` is passed over by that rule, one with `# autograph: ignore` by
    all of them.

    >>> explain(Trace("expr.py"))
    []
    """
    scripts = scripts or {}
    # A script that failed before it recorded anything has a failure to explain all the same.
    kept = trace.steps or ((Step(0, Graph()),) if trace.failure else ())
    trace = replace(trace, steps=kept)
    told: list[tuple[Rule, Found, Step]] = []
    for rule in RULES:
        if _chosen(rule, select, ignore):
            told += [(rule, one, step) for step in kept for one in rule.find(Seen(trace, step, scripts))]
    explained = {name for _, one, _ in told for name in one.covers}
    found: dict[tuple[str, str, object], Finding] = {}
    for rule, one, step in told:
        if _is_ignored(one, rule.code, scripts) or (one.about and explained.issuperset(one.about)):
            continue
        where = (one.source.file, one.source.line) if one.source else None
        key = rule.code, _NUMBERS.sub("%", one.said), where
        if key not in found or step.number == at:
            found[key] = _finding(rule, one, step)
    return list(found.values())


def asides_of(trace: Trace, scripts: Mapping[str, Script]) -> list[Finding]:
    """Return what is right where it is meant, and no finding: told where no code is selected."""
    return explain(trace, scripts, select=[rule.code for rule in RULES if rule.aside])


def _finding(rule: Rule, one: Found, step: Step) -> Finding:
    reason, remedy = one.reason or rule.reason, one.remedy or rule.remedy
    return Finding(rule.code, one.said, one.source, reason, remedy, one.facts, one.nodes, step.number)


def _chosen(rule: Rule, select: Collection[str], ignore: Collection[str]) -> bool:
    wanted = rule.code.startswith(tuple(select)) if select else not rule.on_request
    return wanted and not (ignore and rule.code.startswith(tuple(ignore)))


def _is_ignored(found: Found, code: str, scripts: Mapping[str, Script]) -> bool:
    source = found.source
    if source is None or source.file not in scripts:
        return False
    match = _IGNORED.search(scripts[source.file].line(source.line))
    return match is not None and (match[1] is None or code in re.split(r"[\s,]+", match[1]))

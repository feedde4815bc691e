"""`autograph explain`: what is wrong in a run, where, and what to change."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from autograph_cli import export
from autograph_cli.cli.opening import Opened, Source, no_graph, open_trace, script_of, source_options
from autograph_cli.cli.options import StepsType, UsageError
from autograph_cli.cli.printing import say
from autograph_cli.cli.project_defaults import ConfiguredCommand
from autograph_cli.findings import RULES, Finding, explain as findings_of
from autograph_cli.findings.explain import asides_of
from autograph_cli.findings.fixes import diff, fixed
from autograph_cli.findings.formats import FORMATS
from autograph_cli.findings.ranks import RULES as RANK_RULES, explain_ranks
from autograph_cli.findings.read import scripts_of
from autograph_cli.graph import Slice, Trace
from autograph_cli.record.run.store import write

FOUND = 1
"""The exit code where something was found."""


class CodesType(click.ParamType[tuple[str, ...]]):
    """Codes of findings, or beginnings of codes, with commas."""

    name = "codes"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        if isinstance(value, tuple):
            return value
        codes = tuple(part.strip() for part in value.split(",") if part.strip())
        for code in codes:
            codes_there = [*(rule.code for rule in RULES), *(rule.code for rule in RANK_RULES)]
            if not any(each.startswith(code) for each in codes_there):
                listed = ", ".join(codes_there)
                self.fail(f"{code!r} is no code, and no code begins so; there are: {listed}.", param, ctx)
        return codes


@click.command(cls=ConfiguredCommand)
@click.option("--select", type=CodesType(), default="", metavar="CODES", help="Only these: AG1,AG301.")
@click.option("--ignore", type=CodesType(), default="", metavar="CODES", help="Not these.")
@click.option("-f", "--format", "format_", type=click.Choice(list(FORMATS)), default="text", show_default=True)
@click.option("--fix", is_flag=True, help="Make the edits that are safe, and show them.")
@click.option("--diff", "only_shown", is_flag=True, help="Show the edits that --fix would make.")
@click.option("--picture", is_flag=True, help="Draw the part of the graph that each finding is about, to a file each.")
@click.option("--steps", type=StepsType(), help="The steps of FILE.py to record.  [default: first,last]")
@source_options
@click.pass_context
def explain(
    ctx: click.Context,
    source: Source,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    format_: str,
    fix: bool,
    only_shown: bool,
    picture: bool,
    steps: str | None,
) -> None:
    """Look through the last run, a TRACE, or FILE.py, which is run first, and say what an expert would see.

    Each finding has a code, a line, facts, a reason, and what to change; docs/findings.md lists them all. A FILE is run
    with its numbers recorded, so that NaN and vanishing gradients are found too. A comment
    `# autograph: ignore[AG101]` on a line passes it over. The exit code is 0 where nothing was found, else 1; 2
    where the script failed.

    \b
      autograph explain
      autograph explain train.py --select AG3 -- --epochs 1
      autograph explain train.py --steps all
      autograph explain train.py --fix
      autograph explain AG301             what this code stands for
      autograph explain train.py --format sarif
    """
    if (page := rule_page(source.name or "")) is not None:
        say(page)
        return
    if steps is not None and source.target is None:
        raise UsageError("--steps is for a script that is run: a trace has the steps that were kept.")
    record = sorted({word for rule in RULES for word in rule.record})
    opened = open_trace(source, None, quiet_stdout=True, record=record, steps=steps, each=True)
    scripts = scripts_of(opened.trace, script_of(opened.trace, source))
    findings = findings_of(opened.trace, scripts, select=select, ignore=ignore)
    if len(ranks := opened.ranks()) > 1:
        findings = [*explain_ranks(ranks, opened.trace, select=select, ignore=ignore), *findings]
    if picture:
        _draw(opened, findings)
    if findings or format_ != "text":
        say(FORMATS[format_](findings))
    else:
        say(_nothing(opened))
    if format_ == "text" and not (select or ignore):
        for one in asides_of(opened.trace, scripts):
            say(f"aside: {one.said} ({one.code})")
    if fix or only_shown:
        _fix(script_of(opened.trace, source), findings, made=fix)
    if source.target is None and opened.trace.steps and not has_values(opened.trace):
        codes = [rule.code for rule in RULES if rule.record]
        command = f"run --ranks {opened.trace.ranks} --record values" if opened.trace.ranks > 1 else "explain"
        again = f"`autograph {command} {opened.trace.script}` records them"
        say(f"It was recorded without numbers, so {', '.join(codes)} were not looked for; {again}.", err=True)
    if opened.trace.steps and opened.trace.ledger is None:
        others = ", ".join(rule.code for rule in RULES if rule.ledger)
        say(f"An earlier version recorded it, without a ledger of training, so {others} were not looked for.", err=True)
    ctx.exit(opened.exit_code or FOUND * bool(findings))


def rule_page(code: str) -> str | None:
    """Return what a code stands for, why it matters and what to change; None for what is no code.

    >>> print(rule_page("AG007").splitlines()[0])
    AG007: backward from more than one number
    """
    every = [(rule.code, rule.title, rule.reason, rule.remedy) for rule in RULES]
    every += [(rule.code, rule.title, rule.reason, rule.remedy) for rule in RANK_RULES]
    found = next((one for one in every if one[0] == code), None)
    if found is None:
        return None
    _, title, reason, remedy = found
    return f"{code}: {title}\n\nwhy:   {reason}\ndo:    {remedy}\nmore:  docs/findings.md"


def _fix(file: Path, findings: Sequence[Finding], *, made: bool) -> None:
    """Show the edits of a script that are safe, and make them."""
    before = file.read_text("utf-8")
    after = fixed(before, file.name, findings)
    if before == after:
        say("No finding has an edit that is safe.", err=True)
        return
    say(diff(before, after, str(file)).rstrip("\n"))
    if made:
        write(file, after.encode())
        say(f"{file} was changed.", err=True)


def has_values(trace: Trace) -> bool:
    """Return whether the numbers of tensors were recorded."""
    return any(node.measured and node.measured.values for step in trace.steps for node in step.graph)


def _nothing(opened: Opened) -> str:
    trace = opened.trace
    if not trace.steps:
        return no_graph(trace)
    if trace.failure:
        return f"{trace.script} failed, and no finding explains it: {trace.failure}"
    return f"{trace.script}: nothing found."


def _draw(opened: Opened, findings: Sequence[Finding]) -> None:
    """The part of the graph around the nodes of each finding."""
    steps = {step.number: step for step in opened.trace.steps}
    for number, finding in enumerate(findings):
        step = steps.get(-1 if finding.step is None else finding.step)
        if step is None or not finding.nodes:
            continue
        around = tuple(f"%{node}" for node in finding.nodes[:8])
        view = "double-backward" if any(step.graph[node].order for node in finding.nodes) else "forward"
        again = sum(other.code == finding.code for other in findings[:number])
        file = Path(f"{opened.stem}.{finding.code}{f'-{again + 1}' if again else ''}.svg")
        write(file, export.render(step, view=view, format="svg", part=Slice(around=around)))
        say(file, err=True)

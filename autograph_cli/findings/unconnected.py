"""Find why the root of a backward call has no history: the statements that made it, and what they cut."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from autograph_cli.findings.book import Book, lines_that
from autograph_cli.findings.calls import (
    argument,
    around,
    assignment,
    called,
    failed_calls,
    failed_script,
    parts_of,
    plain_grad,
    script_parts,
)
from autograph_cli.findings.endings import is_whole
from autograph_cli.findings.records import Found, Seen, line_of
from autograph_cli.graph.cuts import LISTED, where
from autograph_cli.record.names.bindings import Binding, Script

_FROZEN = re.compile(r"\.requires_grad(_\(\s*False|\s*=|_\(\w+\))")
BACKWARD = re.compile(r"([\w.\[\]]+?)\.backward\(")
_WHOLE = (
    "Compute the loss of the scores themselves, or weigh what may be picked by softmax: whole numbers have no gradient."
)
_OUTSIDE = "Compute the loss where gradients are recorded, outside of no_grad; change leaves there in place, w -= step."


def without_history(seen: Seen) -> Iterator[Found]:
    """Yield what backward was called on, and what cut it off or came too late for it."""
    at = seen.trace.failed_at
    match = BACKWARD.search(at.text) if at else None
    roots = [ast.unparse(part) for call in failed_calls(seen, "grad") for part in argument(call, 0, "outputs")]
    name = match[1] if match else roots[0] if roots else "the tensor"
    ledger = seen.trace.ledger
    before = [each for each in Book(ledger).backward if each.source == at] if ledger else []
    frozen = lines_that(seen, _FROZEN.search) if before else []
    cuts = [] if frozen else list(cuts_above(seen, name))  # they were there when it went well
    facts = [
        f"{file}:{one.line} `{one.text}`: {', '.join(dict.fromkeys(cause.words for cause in one.causes))}"
        for file, one in cuts
    ]
    facts = facts or list(dict.fromkeys(_whole_above(seen, name))) or list(dict.fromkeys(_compared_above(seen, name)))
    remedy = _WHOLE if facts and not cuts else ""
    if frozen:
        facts = [f"the same line went well {len(before)} time{'s' * (len(before) != 1)} before"]
        facts += [f"{line_of(one)} `{one.text}`: what was frozen since is to be learned here" for one in frozen[:1]]
        remedy = "Let its parameters require gradients again before this pass."
    late = None if facts else _required_late(seen, name)
    if at is not None and late is not None:
        variable, one, told = late
        facts.append(
            f"{at.file}:{one.line} `{one.text}` takes {variable}, which requires a gradient from line {told.lineno} on"
        )
        remedy = f"Tell {variable} to require a gradient before line {one.line}."
    made = assignment(seen, name.partition(".")[0].partition("[")[0])
    if any(cause.words.startswith("torch.") for _, one in cuts for cause in one.causes):
        remedy = _OUTSIDE
    if at is not None and made is not None and plain_grad(made) is not None:
        facts.append(f"{at.file}:{made.lineno} makes it by grad without create_graph, which records nothing")
        remedy = "Make the first derivative with create_graph=True."
    off = [] if facts else [line for line, part in script_parts(seen, ast.Call) if _switches_off(seen, part)]
    if off:
        facts.append(f"{line_of(off[0])} `{off[0].text}` switches recording off, for all that comes after it")
        remedy = "Write `with torch.no_grad():`, which ends by itself, or switch recording on again."
    said = f"{name} has no history: nothing that requires grad leads to it"
    yield Found(said, at, tuple(facts[:LISTED]), (), remedy)


def cuts_above(seen: Seen, name: str) -> Iterator[tuple[str, Binding]]:
    """The statements that cut gradients on the way to a variable of the line that failed, where no other way goes round
    them."""
    there = failed_script(seen)
    if there is None:
        return
    file, script, line = there
    whole = {id(one) for one in _statements(script, name, line, cut=True)}
    for one in _statements(script, name, line):
        operands = frozenset[str]().union(*(cause.operands for cause in one.causes))
        before = [earlier for use in operands for earlier in script.reaching(use, one.line)]
        if one.causes and (not before or any(id(earlier) not in whole for earlier in before)):
            yield file, one


def _switches_off(seen: Seen, call: ast.Call) -> bool:
    """Return whether a call switches recording off, and stands in no `with`, which would switch it on again."""
    off = ast.unparse(call).endswith("set_grad_enabled(False)")
    within = (
        item.context_expr
        for script in seen.scripts.values()
        for w in parts_of(script.tree, ast.With)
        for item in w.items
    )
    return off and not any(call is each for each in within)


def _statements(script: Script, name: str, line: int, *, cut: bool = False) -> Iterator[Binding]:
    """The statements that lead to what a line reads by a name; `cut`: by ways that no statement cuts."""
    waiting, met = script.reaching(name, line), set[int]()
    while waiting:
        one = waiting.pop(0)
        if id(one) not in met:
            met.add(id(one))
            yield one
            waiting += [
                earlier for use in sorted(one.kept if cut else one.uses) for earlier in script.reaching(use, one.line)
            ]


def _whole_above(seen: Seen, name: str) -> Iterator[str]:
    """The whole numbers that a variable of the line that failed was made of, as the graph has them."""
    there = failed_script(seen)
    read = [] if there is None else [((there[0], one.line), one) for one in _statements(there[1], name, there[2])]
    for node in seen.graph:
        at = None if node.source is None else (node.source.file, node.source.line)
        for one in (one for line, one in read if line == at):
            for nr, output in enumerate(node.outputs):
                if one.targets.intersection(output.names) and is_whole(node, nr):
                    yield f"{where(node)} makes {output.names[0]}: {output.type}, and whole numbers have no gradient"


def _compared_above(seen: Seen, name: str) -> Iterator[str]:
    """The comparisons that a variable of the line that failed was made of; one that chooses between values is none."""
    there = failed_script(seen)
    if there is None:
        return
    file, script, line = there
    lines = {one.line for one in _statements(script, name, line)}
    for part in ast.walk(script.tree):
        if isinstance(part, (ast.Assign, ast.Return)) and part.value is not None and part.lineno in lines:
            chosen = parts_of(part.value, ast.IfExp, ast.BoolOp, ast.Subscript) or [
                call for call in parts_of(part.value, ast.Call) if called(call) in ("where", "masked_fill")
            ]
            for each in [] if chosen else parts_of(part.value, ast.Compare):
                yield f"{file}:{part.lineno} compares, `{ast.unparse(each)}`, and no gradient goes through that"


def _required_late(seen: Seen, name: str) -> tuple[str, Binding, ast.stmt] | None:
    """A variable that a value was made of before it was told to require a gradient, with both statements."""
    there = failed_script(seen)
    if there is None or around(there[1].tree, there[2], ast.For, ast.While):
        return None
    _, script, line = there
    told = [(made, part) for part in parts_of(script.tree, ast.stmt) if (made := _told(part))]
    for one in _statements(script, name, line):
        for made, part in told:
            earlier = any(other == made and each.lineno < one.line for other, each in told)
            if made in one.uses and one.line < part.lineno < line and not earlier:
                return made, one, part
    return None


def _told(part: ast.stmt) -> str:
    """The variable that a statement tells to require a gradient: `x.requires_grad_()`, `x.requires_grad = True`."""
    text = ast.unparse(part) if isinstance(part, (ast.Expr, ast.Assign)) else ""
    match = re.fullmatch(r"([\w.]+)\.requires_grad(_\((True)?\)| = True)", text)
    return match[1] if match else ""

"""The expression of the script that an operation belongs to: `F.cross_entropy(x, y)` is one, and runs two."""

from __future__ import annotations

import ast
import functools
import itertools
import linecache
from collections.abc import Iterable, Iterator, Sequence
from types import CodeType

from autograph_cli.engines.protocol import key_of
from autograph_cli.graph.reader_level import CALLED
from autograph_cli.record.log.events import INPUT, OPERATION, UNTRACKED, Event
from autograph_cli.record.names.source_locations import Site

Written = tuple[int, str]
LONGEST = 40
"""Characters of an expression's words."""
_SIGNS: dict[type[ast.operator], str] = {ast.MatMult: "matmul", ast.Pow: "pow", ast.Mod: "remainder"}


def written_together(events: Iterable[Event]) -> dict[int, Written]:
    """Return the number of the expression and its words for each event of one that ran several, of an index with
    tensors in it, or of a function that an operation of another name stands for."""
    found: dict[int, Written] = {}
    for run in _runs(events):
        words = words_of(run[-1].site)
        for turn in (turn for part in _connected(run) for turn in _turns(part)) if words else ():
            if len(turn) > 1 or _is_told(turn[0], words):
                found |= dict.fromkeys([event.number for event in turn], (turn[0].number, words))
    # Numbers that count from 0 are the same in every run.
    order = {number: position for position, number in enumerate(dict.fromkeys(number for number, _ in found.values()))}
    return {event: (order[number], words) for event, (number, words) in found.items()}


def _is_told(event: Event, words: str) -> bool:
    return (len(event.args) > 1 and words.startswith("[")) or words.partition(" ")[0] in CALLED


def _runs(events: Iterable[Event]) -> Iterator[list[Event]]:
    """The operations of order 0 in a row that one instruction of the script ran, in one call of a module.

    What runs inside of a layer of `torch.nn` the script did not write. What was made from nothing is met where it is
    first used, which may be long after it was made.
    """
    run: list[Event] = []
    made: list[Event] = []
    for event in events:
        if event.kind == INPUT:
            made += [event] if event.op and not event.owner else []
        if event.site is None:
            continue
        if not (run and _is_written(event) and _together(run[-1], event)):
            if run:
                yield run
            run = []
        if _is_written(event):
            run += [other for other in made if _together(event, other)]
            run.append(event)
        made = []
    if run:
        yield run


def _together(one: Event, other: Event) -> bool:
    """Return whether one instruction ran both, in one call of a module."""
    site, before = one.site, next(iter(other.made_at), other.site)
    if site is None or before is None or site[1] != before[1] or site[0] is not before[0]:
        return False
    return one.call is other.call


def _is_written(event: Event) -> bool:
    call = event.call
    made = event.kind in (OPERATION, UNTRACKED)
    return made and event.made_by is None and (call is None or call.about.layer is None)


def _connected(run: Sequence[Event]) -> list[list[Event]]:
    """The events in groups, between which nothing goes: the calls of a comprehension lie side by side."""
    group: dict[int, list[Event]] = {}
    for event in run:
        met = {id(its): its for arg in event.args if (its := group.get(key_of(arg))) is not None}.values()
        mine = max(met, key=len, default=[])  # which is not copied: a chain may be long
        others = [each for its in met if its is not mine for each in its]
        mine += [*others, event]
        group |= {each.key: mine for each in (*others, event)}
    parts = {id(its): its for its in group.values()}.values()
    return [sorted(its, key=lambda event: event.number) for its in parts]


def _turns(part: Sequence[Event]) -> Iterator[Sequence[Event]]:
    """The events of each turn, where one instruction ran the same operations again and again."""
    told = [(event.cls, event.op) for event in part]
    many = len(told)
    sizes = (size for size in range(1, many + 1) if many % size == 0)
    size = next(size for size in sizes if told == told[:size] * (many // size))
    return (part[start : start + size] for start in range(0, many, size))


def words_of(site: Site | None) -> str:
    """The words of the expression at a site: the function and its plain arguments, or the index; else nothing."""
    return "" if site is None else _words(*site)


@functools.lru_cache(1 << 12)
def _words(code: CodeType, offset: int) -> str:
    expression = _expression(code, offset)
    words = ""
    if isinstance(expression, ast.Call):
        words = _called(expression)
    elif isinstance(expression, ast.Subscript):
        inner = ast.unparse(expression.slice)
        words = f"[{inner[1:-1] if isinstance(expression.slice, ast.Tuple) else inner}]"
    elif isinstance(expression, ast.BinOp):
        words = _SIGNS.get(type(expression.op), "")
    return words if len(words) <= LONGEST else ""


def _expression(code: CodeType, offset: int) -> ast.expr | None:
    first, last, begin, end = next(itertools.islice(code.co_positions(), offset // 2, None), (None,) * 4)
    if first is None or last is None or begin is None or end is None:
        return None
    lines = [linecache.getline(code.co_filename, number).encode() for number in range(first, last + 1)]
    lines[-1] = lines[-1][:end]
    lines[0] = lines[0][begin:]
    try:
        return ast.parse(b"(" + b"".join(lines) + b")", mode="eval").body
    except (SyntaxError, ValueError, RecursionError):
        return None


def _called(call: ast.Call) -> str:
    function = call.func
    name = (
        function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    )
    plain = [words for arg in call.args if (words := _literal(arg)) != "True"]
    plain += [_argument(keyword.arg, keyword.value) for keyword in call.keywords if keyword.arg]
    told = [words for words in plain if words]
    words = " ".join([name, ", ".join(told)]).strip() if name else ""
    return words if len(words) <= LONGEST else f"{name} …"


def _argument(name: str, value: ast.expr) -> str:
    words = _literal(value)
    if words == "True":
        return name
    return words if isinstance(value, ast.Constant) and isinstance(value.value, str) else words and f"{name} {words}"


def _literal(value: ast.expr) -> str:
    try:
        found = ast.literal_eval(value)
    except (ValueError, TypeError, SyntaxError, RecursionError):
        return ""
    return "" if found is None or found is False else str(found)

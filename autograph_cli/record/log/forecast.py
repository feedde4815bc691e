"""Foretells how often the loops around a backward call will still turn, as far as their heads tell, or a counter that
ends them, so that the last step of a long loop is known before it comes.

Nothing of the script's is called for it: what a head names is looked up, and lengths are those of built-in containers,
of tensors, and of classes whose `__len__` returns an expression of such.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import inspect
import math
import sys
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from types import FrameType, FunctionType, ModuleType
from typing import Any, NamedTuple

from autograph_cli.record.names.source_locations import RUNNER, USER, kind_of, parsed
from autograph_cli.record.names.variables import is_exactly, variables_of

_SIZED: tuple[Any, ...] = (
    range,
    list,
    tuple,
    dict,
    set,
    frozenset,
    str,
    bytes,
    deque,
    type({}.items()),
    type({}.keys()),
    type({}.values()),
)
_OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
}
_OPPOSITE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
}
_WAYS: dict[type[ast.cmpop], int] = {ast.Lt: 1, ast.LtE: 1, ast.Gt: -1, ast.GtE: -1, ast.NotEq: 0}
"""The direction in which the left side of a comparison counts while the loop goes on."""
_FUNCTIONS: dict[str, Any] = {"int": int, "max": max, "min": min, "round": round, "range": range}
_VIEWS = ("items", "keys", "values")
_BY_ONE = {"count": 1, "enumerate": 2, "range": 2}
"""Iterators, and the most arguments with which they count by ones."""
_BARS, _COPIES = ("tqdm", "trange", "track"), ("list", "tuple", "sorted", "reversed", "iter")
_PLAIN_SAMPLERS = ("RandomSampler", "SequentialSampler")
_DEEPEST = 8
"""The most lengths that are asked for, one for the other."""
_Names = Mapping[str, Any]


class Left(NamedTuple):
    """The turns that loops still take."""

    turns: int
    sure: bool
    """False where a `break`, a `return` or a `raise` may end one before."""


class _Turn(NamedTuple):
    length: int
    at: int | None = None
    """The turn that it is in, from 0, if its variable tells."""
    sure: bool = True
    """False where it is guessed that what a call returns has the length of what that was given."""


class Unknown(Exception):
    """A head does not tell."""


class Forecast:
    """The loops of one run; those that were going on when it began are none of it."""

    def __init__(self, tensor: Any) -> None:
        self._tensor = tensor
        self._begun: dict[Any, set[int]] = {}

    def begin(self, frame: FrameType | None) -> None:
        """Note what is going on."""
        self._begun = {}
        while frame is not None:
            self._begun.setdefault(frame.f_code, set()).add(frame.f_lineno)
            frame = frame.f_back

    def left(self, frame: FrameType | None, count: int) -> Left | None:
        """Return how many more turns the loops around a call take that was made `count` times; None where they do not
        tell."""
        turns, inner, sure = 0, 1, True
        try:
            while frame is not None and (kind := kind_of(frame.f_code.co_filename)) != RUNNER:
                for loop in self._around(frame) if kind == USER else ():
                    if not inner:  # of the loop within nobody knows how many turns it takes in all
                        raise Unknown
                    names = {**frame.f_globals, **variables_of(frame)}
                    length, at, known = self._head(loop, names)
                    until = self._until(loop, frame.f_lineno, names, counts=at is not None)
                    if length is None:
                        if until is None:
                            raise Unknown
                        turns, inner, sure = turns + inner * until, 0, False
                        continue
                    sure = sure and known and not _may_end(loop, frame.f_lineno if at is None else 0)
                    if until is not None and at is not None:
                        length = min(length, at + 1 + until)
                    at = (count - 1) // inner % max(length, 1) if at is None else at
                    turns, inner = turns + inner * max(length - 1 - at, 0), inner * length
                frame = frame.f_back
        except (Unknown, ArithmeticError, LookupError, AttributeError, TypeError, ValueError, RecursionError):
            return None
        return Left(turns, sure)

    def _around(self, frame: FrameType) -> Iterator[ast.For | ast.While]:
        """The loops of a function in which it is, the innermost first."""
        code, line, begun = frame.f_code, frame.f_lineno, self._begun.get(frame.f_code, ())
        if line in begun:  # where it was then: no loop has begun since, and its text may not be there
            return
        for first, last, loop in _loops(parsed(code.co_filename)):
            if (
                code.co_firstlineno <= loop.lineno
                and first <= line <= last
                and not any(first <= n <= last for n in begun)
            ):
                if isinstance(loop, ast.AsyncFor):
                    raise Unknown
                yield loop

    # -- the head of a loop

    def _head(self, loop: ast.For | ast.While, names: _Names) -> tuple[int | None, int | None, bool]:
        """Return how many turns a loop takes by its head, if that tells, and which one it is in: see `_Turn`."""
        try:
            return (None, None, False) if isinstance(loop, ast.While) else self._turn(loop.iter, _counter(loop), names)
        except (Unknown, ArithmeticError, LookupError, AttributeError, TypeError, ValueError):
            return None, None, False

    def _until(self, loop: ast.For | ast.While, line: int, names: _Names, *, counts: bool) -> int | None:
        """Return how many more turns a loop takes until a counter ends it, which its head or an `if` with a `break`
        compares; its variable is one where it `counts`. None where there is no such counter."""
        steps, found = _counters(loop, counts), []
        for test, at in _tests(loop):
            for count, limit, way, last in _compared(test):
                by, where = steps.get(ast.unparse(count), (0, 0))
                with contextlib.suppress(Unknown, KeyError, AttributeError, TypeError):
                    if by and by * way >= 0:
                        span = (self._number(limit, names) - self._number(count, names)) / by
                        turns = math.floor(span) + 1 if last else math.ceil(span)
                        # What comes at the head or above the call is of the next turn.
                        counted_first = (where <= line, where) < (at <= line, at)
                        found += [max(turns - counted_first, 0)] if way or span >= 0 else []
        return min(found, default=None)

    def _turn(self, iterated: ast.expr, target: ast.expr | None, names: _Names) -> _Turn:
        """Return how many turns a loop over this takes, and which one it is in."""
        if isinstance(iterated, ast.NamedExpr):
            iterated = iterated.value
        if isinstance(iterated, (ast.Tuple, ast.List)) and not any(
            isinstance(each, ast.Starred) for each in iterated.elts
        ):
            return _Turn(len(iterated.elts))
        if isinstance(iterated, ast.Call) and (found := self._turn_of_call(iterated, target, names)) is not None:
            return found
        over = self._value(iterated, names)
        if isinstance(over, range) and isinstance(target, ast.Name):
            now = names.get(target.id)
            return _Turn(len(over), over.index(now) if type(now) is int and now in over else None)
        return _Turn(self._length(over))

    def _turn_of_call(self, call: ast.Call, target: ast.expr | None, names: _Names) -> _Turn | None:
        """Return the same of a loop over what a call returns; None for one that is looked up."""
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
        if name == "range":
            return None
        if owner is not None and name in _VIEWS and not call.args:
            return _Turn(self._length(self._value(owner, names)))
        first, *others = call.args
        if name == "zip":
            every = [self._turn(each, None, names) for each in call.args]
            return _Turn(min(each.length for each in every), None, all(each.sure for each in every))
        if name == "enumerate":
            found = self._turn(first, None, names)
            starts = [*others, *(each.value for each in call.keywords)]
            counter = target.elts[0] if isinstance(target, ast.Tuple) else None
            now = None if counter is None else self._value(counter, names)
            at = now - (self._number(starts[0], names) if starts else 0) if type(now) is int else -1
            return found._replace(at=int(at) if 0 <= at < found.length else None)
        if name == "trange":
            first = ast.copy_location(ast.Call(ast.Name("range", ast.Load()), [first], []), call)
        passes = name in _BARS
        found = self._turn(first, target if passes else None, names)
        return found._replace(sure=found.sure and (passes or name in _COPIES))

    def _length(self, value: Any, deep: int = 0) -> int:
        """Return how many things something holds."""
        kind = type(value)
        if kind in _SIZED:
            return len(value)
        if kind is self._tensor or (kind.__module__, kind.__name__) == ("numpy", "ndarray"):
            return int(value.shape[0])
        if deep > _DEEPEST:
            raise Unknown
        own = value.__dict__ if _is_plain(value) and hasattr(value, "__dict__") else {}
        if type(own.get("total")) is int:  # a bar of progress
            return int(own["total"])
        if "batch_sampler" in own and "dataset" in own:
            return self._batches(own, deep)
        method = inspect.getattr_static(kind, "__len__", None)
        if not isinstance(method, FunctionType):
            raise Unknown
        body = _returned(method)
        return int(self._value(body, {**method.__globals__, method.__code__.co_varnames[0]: value}, deep + 1))

    def _batches(self, loader: Mapping[str, Any], deep: int) -> int:
        """Return how many batches a loader makes of its samples."""
        sampler, size = loader["sampler"], loader["batch_size"]
        own = vars(sampler)
        if isinstance(own.get("num_samples"), int):
            count = int(own["num_samples"])
        elif "indices" in own or type(sampler).__name__ in _PLAIN_SAMPLERS:
            count = self._length(own.get("indices", loader["dataset"]), deep + 1)
        else:
            raise Unknown
        if size is None:
            return count
        return int(count // size if loader["drop_last"] else -(-count // size))

    # -- expressions

    def _value(self, part: ast.expr, names: _Names, deep: int = 0) -> Any:
        """Return what an expression stands for that calls nothing of the script's."""
        if isinstance(part, ast.Constant):
            return part.value
        if isinstance(part, ast.Name):
            return names[part.id]
        if isinstance(part, ast.Attribute):
            return self._attribute(self._value(part.value, names, deep), part.attr)
        if isinstance(part, ast.BinOp) and type(part.op) in _OPERATORS:
            sides = [self._value(side, names, deep) for side in (part.left, part.right)]
            if all(is_exactly(side, int, float) for side in sides):
                return _OPERATORS[type(part.op)](*sides)
        if isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.USub):
            return -self._number(part.operand, names, deep)
        if isinstance(part, ast.Subscript):
            held = self._value(part.value, names, deep)
            if isinstance(part.slice, ast.Slice) and is_exactly(held, list, tuple, range):
                ends = (part.slice.lower, part.slice.upper, part.slice.step)
                return held[slice(*[None if end is None else self._value(end, names, deep) for end in ends])]
            if is_exactly(held, list, tuple, dict) or _is_size(held):
                return held[self._value(part.slice, names, deep)]
        if isinstance(part, ast.Call) and not part.keywords:
            return self._called(part, names, deep)
        raise Unknown

    def _number(self, part: ast.expr, names: _Names, deep: int = 0) -> int | float:
        value = self._value(part, names, deep)
        if not is_exactly(value, int, float):
            raise Unknown
        return value  # type: ignore[no-any-return]

    def _called(self, call: ast.Call, names: _Names, deep: int) -> Any:
        """Return what a call of a built-in function, or of a tensor's `size`, gives."""
        if isinstance(call.func, ast.Name) and call.func.id not in names:
            if call.func.id == "len":
                return self._length(self._value(call.args[0], names, deep), deep + 1)
            return _FUNCTIONS[call.func.id](*[self._number(each, names, deep) for each in call.args])
        if isinstance(call.func, ast.Attribute) and call.func.attr == "size" and len(call.args) == 1:
            tensor = self._value(call.func.value, names, deep)
            if type(tensor) is self._tensor:
                return tensor.shape[self._number(call.args[0], names, deep)]
        raise Unknown

    def _attribute(self, value: Any, name: str) -> Any:
        """Return an attribute that is held as it is, by an object, its class or a module."""
        if name == "shape" and type(value) is self._tensor:
            return value.shape
        own = getattr(value, "__dict__", {}) if isinstance(value, ModuleType) or _is_plain(value) else {}
        if name in own:
            return own[name]
        held = inspect.getattr_static(type(value), name)
        if hasattr(type(held), "__get__"):
            raise Unknown
        return held


def _is_plain(value: Any) -> bool:
    """Return whether the attributes of an object are looked up as usual."""
    return inspect.getattr_static(type(value), "__getattribute__") is object.__getattribute__


def _is_size(value: Any) -> bool:
    return isinstance(value, tuple) and type(value).__name__ == "Size"


@functools.lru_cache(16)
def _loops(text: ast.Module) -> list[tuple[int, int, ast.For | ast.AsyncFor | ast.While]]:
    """The loops of a file with the first and the last line of their bodies, the inner ones first."""
    if not text.body:
        raise Unknown
    found = [each for each in ast.walk(text) if isinstance(each, (ast.For, ast.AsyncFor, ast.While))]
    return [(each.body[0].lineno, each.body[-1].end_lineno or sys.maxsize, each) for each in reversed(found)]


def _counter(loop: ast.For) -> ast.expr | None:
    """Return what a loop assigns to, if nothing in it assigns to that as well."""
    bound = {part.id for part in ast.walk(loop.target) if isinstance(part, ast.Name)}
    parts = (part for each in loop.body for part in ast.walk(each) if isinstance(part, ast.Name))
    return None if any(part.id in bound and isinstance(part.ctx, ast.Store) for part in parts) else loop.target


def _counters(loop: ast.For | ast.While, counts: bool) -> dict[str, tuple[float, int]]:
    """Return what each turn of a loop adds a number to, in one place: the number, and the line."""
    stores = Counter(ast.unparse(part) for part in ast.walk(loop) if isinstance(getattr(part, "ctx", None), ast.Store))
    found: dict[str, tuple[float, int]] = {}
    if isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call):
        name, given = ast.unparse(loop.iter.func).rpartition(".")[2], loop.iter.args
        if len(given) <= _BY_ONE.get(name, 2 if counts else -1):
            first = loop.target.elts[0] if isinstance(loop.target, ast.Tuple) else loop.target
            found[ast.unparse(first)] = 1, loop.lineno
    head = ast.walk(loop.test) if isinstance(loop, ast.While) else ()
    for part in (*head, *loop.body):
        target, op, value = _change(part)
        by = value.value if isinstance(value, ast.Constant) else None
        if isinstance(op, (ast.Add, ast.Sub)) and isinstance(by, (int, float)):
            # What a head assigns comes before its comparison.
            line = part.lineno if isinstance(part, ast.stmt) else loop.lineno - 1
            found[ast.unparse(target)] = by if isinstance(op, ast.Add) else -by, line
    return {name: each for name, each in found.items() if stores[name] == 1}


def _change(part: ast.AST) -> tuple[ast.AST, ast.operator | None, ast.AST]:
    """Return what a statement, or `(name := ...)`, changes, by which operator and value: `i += 1` or `i = i + 1`."""
    if isinstance(part, ast.AugAssign):
        return part.target, part.op, part.value
    if isinstance(part, (ast.Assign, ast.NamedExpr)) and isinstance(part.value, ast.BinOp):
        target = part.targets[-1] if isinstance(part, ast.Assign) else part.target
        if ast.unparse(target) == ast.unparse(part.value.left):
            return target, part.value.op, part.value.right
    return part, None, part


def _tests(loop: ast.For | ast.While) -> Iterator[tuple[ast.expr, int]]:
    """Yield the comparisons by which a loop goes on as long as they hold, each with its line."""
    if isinstance(loop, ast.While):
        yield from ((each, loop.lineno) for each in _joined(loop.test, ast.And))
    for part in loop.body:
        if isinstance(part, ast.If) and isinstance(part.body[-1], ast.Break):
            for each in _joined(part.test, ast.Or):
                if isinstance(each, ast.Compare) and type(each.ops[0]) in _OPPOSITE:
                    yield ast.Compare(each.left, [_OPPOSITE[type(each.ops[0])]()], each.comparators), part.lineno


def _joined(test: ast.expr, by: type[ast.boolop]) -> list[ast.expr]:
    return test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, by) else [test]


def _compared(test: ast.expr) -> Iterator[tuple[ast.expr, ast.expr, int, bool]]:
    """Yield either side of a comparison as what counts to the other, with its direction, 0 for any, and whether the
    limit is the last for which it holds."""
    way = _WAYS.get(type(test.ops[0])) if isinstance(test, ast.Compare) and len(test.ops) == 1 else None
    if isinstance(test, ast.Compare) and way is not None:
        last = isinstance(test.ops[0], (ast.LtE, ast.GtE))
        sides = (test.left, test.comparators[0])
        left, right = (side.target if isinstance(side, ast.NamedExpr) else side for side in sides)
        yield left, right, way, last
        yield right, left, -way, last


def _may_end(loop: ast.For | ast.While, counted: int) -> bool:
    """Return whether something in a loop ends it before its time; where turns are `counted` at a line, also whether one
    may not come there."""
    waiting: list[ast.AST] = list(loop.body)
    while waiting:
        part = waiting.pop()
        if isinstance(part, (ast.Break, ast.Return, ast.Raise)) or (counted and isinstance(part, ast.Continue)):
            return True
        if isinstance(part, (ast.If, ast.Match)) and part.lineno <= counted <= (part.end_lineno or 0):
            return True
        if not isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.expr)):
            waiting += ast.iter_child_nodes(part)
    return False


def _returned(method: FunctionType) -> ast.expr:
    """The expression that a function returns, if it does nothing else."""
    code = method.__code__
    for each in ast.walk(parsed(code.co_filename)):
        if isinstance(each, ast.FunctionDef) and each.name == code.co_name and each.lineno == code.co_firstlineno:
            body = each.body[1:] if ast.get_docstring(each) else each.body
            if len(body) == 1 and isinstance(body[0], ast.Return) and body[0].value is not None:
                return body[0].value
    raise Unknown

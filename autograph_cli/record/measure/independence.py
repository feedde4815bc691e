"""Dependence of a model's result on what it was given: examples of a batch, times, inputs, parameters.

A model is called again with one part of an input changed, and what changed of the result is looked at: where a gradient
would have to go through indices or whole numbers, that tells as well.
"""

from __future__ import annotations

import ast
import contextlib
import io
import linecache
import re
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import inf
from types import FrameType
from typing import Any

import numpy as np
from msgspec import Struct

from autograph_cli.engines.protocol import Engine, ModuleCall
from autograph_cli.graph import Source
from autograph_cli.graph.errors import message
from autograph_cli.record.measure.called_again import Call, Model, copied, differs, exchanged, with_graph
from autograph_cli.record.names.modules import parts
from autograph_cli.record.names.source_locations import USER, is_of_script, kind_of

CAUSAL = ("triu", "tril", "causal", "subsequent")
"""Words by which a line says that what is later is not to be seen."""
INDEPENDENCE = "independence"
"""The word by which a recorder is asked for it."""
FACTS = ("later", "in order")
"""The kinds of what is no fault by itself."""
MODELS = 8
"""The most models that are looked at."""
_SHIFTS = (("[:, :-1]", "[:, 1:]"), ("[:-1]", "[1:]"))
LARGEST = 1 << 20
"""Inputs with more numbers are not kept."""
TRIES = 3


class Influence(Struct, frozen=True):
    """Something that hangs, or does not hang, on what it was to."""

    kind: str
    """`examples`, or `rows` that may be no examples, `future`, or `later` where nothing says that it is not to be seen,
    `in order` where it is not, `input`, `parameter`; or `unchecked`."""
    said: str
    source: Source | None = None


class Calls:
    """The first call with gradients of each module that is in no other's, and what it was given.

    A checkpoint calls parts of a module again by themselves: what is in one that is here already is passed over.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._found: list[tuple[Any, str, Any, Any]] = []
        self._inside: set[int] = set()

    def enters(self, call: ModuleCall, path: str) -> None:
        """A module is called."""
        module = call.module
        new = id(module) not in self._inside and len(self._found) < MODELS
        if new and self._engine.namespace.is_grad_enabled() and _learns(module):
            given = (exchanged(each, self._engine.tensor, self._array) for each in (call.args, call.kwargs))
            self._found.append((module, type(module).__name__, *given))
            self._inside.update(id(part) for _, part in parts(module))

    def _array(self, x: Any) -> _Array:
        """Return the numbers of a tensor, which are read without an operation."""
        tensor: Any = self._engine.tensor
        plain = type(x) is tensor and x.numel() <= LARGEST  # of a class of the script's, nothing is asked
        array = self._engine.array(x) if plain else None
        return _Array(x.dtype if plain else None, None if array is None else np.array(array))

    @property
    def names(self) -> list[str]:
        """Their classes."""
        return [name for _, name, _, _ in self._found]

    def influences(self, torch: Any, slow: float = inf) -> Iterator[Influence]:
        """Yield what is not as it is to be in each model, or why it was not looked at: not where a call takes longer
        than so many seconds of this thread."""
        for module, name, args, kwargs in self._found:
            quiet = contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO())
            try:
                again = (exchanged(given, _Array, lambda x: x.again(torch)) for given in (args, kwargs))
                call = Call(module, name, *again)
                with quiet[0], quiet[1], warnings.catch_warnings(), _as_in_training(torch):
                    warnings.simplefilter("ignore")
                    found = list(influences(torch, call, _line, slow))
            except (Exception, SystemExit) as error:  # the model is the script's own, and may refuse what it is given
                found = [Influence("unchecked", f"{name} was not checked: {type(error).__name__}: {message(error)}")]
            yield from found


@contextlib.contextmanager
def _as_in_training(torch: Any) -> Iterator[None]:
    """Within the block, attention takes the same way in evaluation as in training, where a row that sees nothing is
    zeros and not NaN."""
    attention = getattr(torch.backends, "mha", None)
    if attention is None:
        yield
        return
    before = attention.get_fastpath_enabled()
    attention.set_fastpath_enabled(False)
    try:
        yield
    finally:
        attention.set_fastpath_enabled(before)


@dataclass
class _Array:
    dtype: Any
    numbers: Any

    def again(self, torch: Any) -> Any:
        """Return the tensor."""
        if self.numbers is None:
            raise TypeError("it was given a tensor that is too large, on another device, or of a class of its own")
        return torch.from_numpy(self.numbers.copy()).to(self.dtype)


def _line(file: str, number: int) -> str:
    return linecache.getline(file, number).strip()


def _learns(module: Any) -> bool:
    every = (x for _, part in parts(module) for x in getattr(part, "_parameters", {}).values())
    return any(x is not None and x.requires_grad for x in every)


def influences(torch: Any, call: Call, text: Callable[[str, int], str], slow: float = inf) -> Iterator[Influence]:
    """Yield what is not as it is to be in a model; `text` is the text of a line of a file."""
    model, began = Model(torch, call, text), time.thread_time()
    base = model.run()
    if time.thread_time() - began > slow or not all(bool(one.isfinite().all()) for one in base):
        return
    if not base or any(bool(differs(*pair).any()) for pair in zip(base, model.run(), strict=True)):
        return  # it draws numbers, or it has no result to look at
    ignored = set[int | str]()
    for number, given in model.given:
        if given.dtype != torch.bool and not _differ(base, model.run(number, model.others(given, given))):
            ignored.add(number)
            said = f"{call.name}: the result does not hang on input {number}, {_shown(given)}"
            yield Influence("input", said, _written(model, model.module))
    yield from _examples(model, base, ignored)
    causal = _is_causal(model)
    yield from _future(model, base, ignored, causal)
    yield from _parameters(model)


def _written(model: Model, module: Any, attribute: str = "") -> Source | None:
    """The line of the script's class of a module that sets an attribute, or that of its `forward`."""
    method = type(module).__init__ if attribute else getattr(type(module), "forward", None)
    code = getattr(method, "__code__", None)
    if code is None or kind_of(code.co_filename) != USER:
        return None
    first, last = code.co_firstlineno, max(line for *_, line in code.co_lines() if line is not None)
    sets = re.compile(rf"\bself\.{re.escape(attribute)}\b[^=]*=[^=]")
    found = (
        number for number in range(first, last + 1) if attribute and sets.search(model.text(code.co_filename, number))
    )
    number = next(found, first)
    return Source(code.co_filename, number, model.text(code.co_filename, number))


def _is_causal(model: Model) -> Source | bool:
    """Return whether a model is to hide what is later: the line that it runs and that says so, or whether it has a mask
    of that form."""
    lines: set[tuple[str, int]] = set()

    def enter(frame: FrameType, event: str, argument: object) -> Any:
        if not is_of_script(frame):
            return None
        lines.add((frame.f_code.co_filename, frame.f_lineno))
        return enter

    model.run(trace=enter)
    for line in sorted(lines):
        if any(word in model.text(*line).partition("#")[0] for word in CAUSAL):
            return Source(*line, model.text(*line))
    if any(word in type(part).__name__.lower() for part in model.module.modules() for word in CAUSAL):
        return _written(model, model.module) or True
    held = [*model.module.buffers(), *(x for part in model.module.modules() for x in vars(part).values())]
    there = any(_is_triangle(model.torch, x) for x in [*held, *model.call.args, *model.call.kwargs.values()])
    return (there or _is_shifted(model) or _predicts_next(model)) and (_written(model, model.module) or True)


def _is_shifted(model: Model) -> bool:
    """Return whether a model is given a sequence and, as what it is to predict, the same one place later."""
    rows = [given for _, given in model.given if given.dim() == 2 and given.shape[1] > 2]
    pairs = [(one, other) for one in rows for other in rows if one is not other and one.shape == other.shape]
    return any(
        bool((one[:, 1:] == other[:, :-1]).all()) and bool((one[:, 1:] != one[:, :-1]).any()) for one, other in pairs
    )


def _predicts_next(model: Model) -> bool:
    """Return whether the file of a model takes all but the last and all but the first of one sequence, to predict what
    comes next: not their difference."""
    forward = getattr(type(model.module), "forward", None)
    code = getattr(forward, "__code__", None)
    if code is None or kind_of(code.co_filename) != USER:
        return False
    try:
        tree = ast.parse("".join(linecache.getlines(code.co_filename)))
    except SyntaxError:
        return False
    given: set[str] = set()
    every = {ast.unparse(part) for part in ast.walk(tree) if isinstance(part, ast.Subscript)}
    for part in ast.walk(tree):
        if isinstance(part, (ast.Call, ast.Tuple)):
            given |= {ast.unparse(each) for each in (part.args if isinstance(part, ast.Call) else part.elts)}
        elif isinstance(part, ast.Assign):
            given.add(ast.unparse(part.value))
    return any(each[: -len(end)] + begin in every for each in given for end, begin in _SHIFTS if each.endswith(end))


def _is_triangle(torch: Any, mask: Any) -> bool:
    """Return whether a tensor hides or shows one triangle of a square, and does the other thing with the rest."""
    if not isinstance(mask, torch.Tensor) or mask.dim() < 2 or mask.shape[-1] != mask.shape[-2] or mask.shape[-1] < 2:
        return False
    square = mask.reshape(-1, *mask.shape[-2:])[0]
    hidden = square == square[0, -1]
    return bool((hidden == torch.ones_like(hidden).triu(1)).all())


def _differ(base: Sequence[Any], other: Sequence[Any]) -> bool:
    return len(base) != len(other) or any(
        one.shape != two.shape or bool(differs(one, two).any()) for one, two in zip(base, other, strict=True)
    )


def _shown(given: Any) -> str:
    return f"{str(given.dtype).removeprefix('torch.')}{list(given.shape)}"


def _touched(model: Model, base: Any, number: int | str, given: Any, dim: int, at: int, over: int) -> set[int] | None:
    """Return which parts of the first result, along a dimension, change with one part of an input; None if the shape
    does."""
    found = model.run(number, model.changed(given, dim, at))
    if not found or found[0].shape != base.shape:
        return None
    where = differs(base, found[0])
    return {place for place in range(base.shape[over]) if bool(where.select(over, place).any())}


def _pairs(given: Any, made: Any) -> list[tuple[int, int]]:
    """The first dimensions of an input and of a result that have one size."""
    dims = [(i, k) for i in range(min(given.dim(), 2)) for k in range(min(made.dim(), 2))]
    return [(i, k) for i, k in dims if given.shape[i] == made.shape[k] > 1]


def _examples(model: Model, base: Sequence[Any], ignored: set[int | str]) -> Iterator[Influence]:
    for number, given in model.given:
        pairs = _pairs(given, base[0])
        if number in ignored or given.dtype == model.torch.bool or not pairs or _is_graph(model, given):
            continue
        if base[0].dim() == 2 and base[0].shape[0] == base[0].shape[1] == given.shape[0]:
            continue  # each is compared with each
        row = 0
        touched = {pair: _touched(model, base[0], number, given, pair[0], row, pair[1]) for pair in pairs}
        if None in touched.values():
            continue
        if any(found is not None and found <= {row} for found in touched.values()):
            row = max((_mixed_in(model, number, given, *pair) for pair in pairs[:1]), default=0)
            touched = {pair: _touched(model, base[0], number, given, pair[0], row, pair[1]) for pair in pairs}
            if not row or any(found is None or found <= {row} for found in touched.values()):
                continue
        (dim, _), found = next(iter(touched.items()))
        source, name = _first_mixed(model, number, given, dim, row)
        count = len((found or set()) - {row})
        where = f", from {name}" if name else ""
        # Indices have no features: of two dimensions one is that of examples, and all of them are mixed.
        apart = (given.dim() > 2 and (0, 0) in pairs) or (given.dim() == 2 and not given.dtype.is_floating_point)
        yield Influence(
            "examples" if apart else "rows",
            f"{model.call.name}: examples influence each other{where}: with row {row} of input {number}, "
            f"{_shown(given)}, {count} other row{'s' * (count != 1)} of the result change{'s' * (count == 1)}",
            source,
        )
        return


def _mixed_in(model: Model, number: int | str, given: Any, dim: int, over: int) -> int:
    """Return a part of an input, other than the first, that the first part of the result has a gradient by, as where
    the largest of all is taken; 0 where there is none."""
    torch = model.torch
    if not given.dtype.is_floating_point:
        return 0
    value = given.clone().requires_grad_()
    with torch.enable_grad():
        made = with_graph(torch, model.call_with(number, value))
        if not made or made[0].dim() <= over:
            return 0
        (grad,) = torch.autograd.grad(made[0].select(over, 0).sum(), value, allow_unused=True)
    sizes = [] if grad is None else [float(grad.select(dim, at).abs().max()) for at in range(given.shape[dim])]
    return max(range(1, len(sizes)), key=sizes.__getitem__, default=0) if any(sizes[1:]) else 0


def _is_graph(model: Model, given: Any) -> bool:
    """Return whether this or another input, or a buffer of numbers, tells which rows belong together: a square of them,
    or pairs of numbers."""
    others = [one for _, one in model.given if one is not given and one.dim() == 2]
    rows = given.shape[0]
    held = [x for x in model.module.buffers() if x.dtype.is_floating_point and not _is_triangle(model.torch, x)]
    others += [x for x in held if x.dim() == 2 and given.dim() == 2]
    if tuple(given.shape) == (rows, rows) and any(one.shape[0] == rows for one in others):
        return True
    pairs = [one for one in others if not one.dtype.is_floating_point and 2 in one.shape and int(one.max()) < rows]
    return bool(pairs) or any(tuple(one.shape) == (rows, rows) for one in others)


def _first_mixed(model: Model, number: int | str, given: Any, dim: int, at: int) -> tuple[Source | None, str]:
    """The first line of the script that makes a tensor in which one example is in more than its own part."""
    runs: list[list[tuple[str, int, str, Any]]] = []
    for value in (given.clone(), model.changed(given, dim, at)):
        seen: list[tuple[str, int, str, Any]] = []
        model.run(number, value, _tracer(model.torch, seen))
        runs.append(seen)
    size = given.shape[dim]
    for one, other in zip(*runs, strict=False):
        if one[:3] != other[:3] or one[3].shape != other[3].shape:
            return None, ""
        if one[3].dtype.is_floating_point and not _is_confined(differs(one[3], other[3]), size):
            line = model.text(one[0], one[1])
            return Source(one[0], one[1], line), line
    return None, ""


def _is_confined(where: Any, size: int) -> bool:
    """Return whether what differs is within one example's part along some dimension."""
    for dim, side in enumerate(where.shape):
        other = [each for each in range(where.dim()) if each != dim]
        touched = int((where.sum(other) > 0).sum()) if other else int(where.sum())
        if side % size == 0 and touched <= side // size:
            return True
    return not bool(where.any())


def _tracer(torch: Any, seen: list[tuple[str, int, str, Any]]) -> Any:
    """A trace function that notes the tensors that each line of a script, outside of libraries, makes."""

    def local(frame: FrameType, event: str, result: Any) -> Any:
        before = lines.get(id(frame))
        if before is not None:
            known = names.setdefault(id(frame), {})
            for name, value in list(frame.f_locals.items()):
                if isinstance(value, torch.Tensor) and known.get(name) is not value:
                    known[name] = value
                    seen.append((frame.f_code.co_filename, before, name, value.detach().clone()))
        if event == "return" and isinstance(result, torch.Tensor):
            seen.append((frame.f_code.co_filename, frame.f_lineno, "", result.detach().clone()))
        lines[id(frame)] = frame.f_lineno
        return local

    def enter(frame: FrameType, event: str, argument: object) -> Any:
        if not is_of_script(frame):
            return None
        lines[id(frame)] = frame.f_lineno
        names[id(frame)] = {n: v for n, v in frame.f_locals.items() if isinstance(v, torch.Tensor)}
        return local

    lines: dict[int, int] = {}
    names: dict[int, dict[str, Any]] = {}
    return enter


def _future(model: Model, base: Sequence[Any], ignored: set[int | str], causal: Source | bool) -> Iterator[Influence]:
    """A result at one time that hangs on what is later, in each input that has times; of indices also where nothing
    says that it is not to, or that it does not."""
    line = causal if isinstance(causal, Source) else _written(model, model.module)
    leaks: list[tuple[int | str, Any, int]] = []
    for number, given in model.given:
        for dim in (1, 0):
            if number in ignored or given.dim() <= dim or base[0].dim() <= dim or given.dtype == model.torch.bool:
                continue
            if not causal and (given.dim() != 2 or given.dtype.is_floating_point):
                continue
            side = given.shape[dim]
            other = 1 - dim
            whole = base[0].dim() > other < given.dim() and given.shape[other] == base[0].shape[other]
            if side < 2 or side != base[0].shape[dim] or not whole:
                continue
            found = _touched(model, base[0], number, given, dim, side - 1, dim)
            apart = _touched(model, base[0], number, given, other, 0, other)
            if found is None or apart is None or not apart <= {0}:
                continue  # it is not the dimension of the examples that is kept apart beside it
            if not found:
                continue  # as of targets, which only a loss hangs on
            if found <= {side - 1}:
                # A table alone says nothing of the model that it is a part of.
                if not given.dtype.is_floating_point and not isinstance(model.module, model.torch.nn.Embedding):
                    yield Influence("in order", f"{model.call.name}: no result hangs on what is later", line)
                return
            leaks.append((number, given, len(found - {side - 1})))
            break
    for number, given, count in leaks[:1]:
        said = f"{model.call.name}: the future leaks: {count} earlier times of the result change with the last of "
        yield Influence("future" if causal else "later", f"{said}input {number}, {_shown(given)}", line)


def _parameters(model: Model) -> Iterator[Influence]:
    """The parameters by which no result changes, for several inputs, in both modes."""
    torch, silent = model.torch, dict[str, Any]()
    for name, parameter in model.module.named_parameters():
        if parameter.requires_grad and parameter.numel():
            silent[name] = parameter
    for mode in (False, True):
        model.module.train(mode)
        for turn in range(TRIES):
            torch.manual_seed(turn)
            args = [
                arg * (1 + turn) + torch.randn_like(arg) * turn
                if isinstance(arg, torch.Tensor) and arg.dtype.is_floating_point
                else copied(torch, arg)
                for arg in model.call.args
            ]
            with torch.enable_grad(), _without_zeros(torch, model.module):
                made = with_graph(torch, model.module(*args, **copied(torch, model.call.kwargs)))
                total = sum((one * torch.randn_like(one)).sum() for one in made)
                if not silent or not made or not total.requires_grad:
                    continue
                found = torch.autograd.grad(total, list(silent.values()), allow_unused=True)
            silent = {
                name: parameter
                for (name, parameter), grad in zip(list(silent.items()), found, strict=True)
                if grad is None or not bool((grad != 0).any())
            }
    model.module.eval()
    for name in silent:
        yield Influence("parameter", f"{model.call.name}: {name} changes nothing of the result", _made(model, name))


@contextlib.contextmanager
def _without_zeros(torch: Any, module: Any) -> Iterator[None]:
    """Within the block, parameters that begin as zeros have other numbers: what they multiply counts after a step."""
    zeros = [(x, x.data) for x in module.parameters() if not bool(x.detach().any())]
    for x, numbers in zeros:
        x.data = torch.randn_like(numbers)
    try:
        yield
    finally:
        for x, numbers in zeros:
            x.data = numbers


def _made(model: Model, name: str) -> Source | None:
    """The line that makes the part of a model in which a parameter is, of the innermost class that the script has."""
    parts, module, found = name.split("."), model.module, None
    for part in parts:
        found = _written(model, module, part) or found
        module = getattr(module, part)
    return found

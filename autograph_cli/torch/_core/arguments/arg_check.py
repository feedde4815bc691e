"""Public functions that look at their arguments, and speak of what is wrong with them as PyTorch does.

A function with signatures (`parsing.py`) refuses a call that fits none of them before it begins; what was taken once is
taken by its types from then on. The few in `QUICK` are called so often that they look only when something went wrong.
Whatever else goes wrong inside the engine leaves it as an error that names the function.
"""

from __future__ import annotations

import operator
import os
import re
from collections.abc import Callable, Iterable, Mapping
from types import CodeType
from typing import Any, TypeVar

import numpy as np

from ..._compiled import FILES, compiled
from ..base.class_names import type_name
from ..base.errors import is_refusal
from ..base.schema import REQUIRED
from ..base.state import process_state
from ..base.user_warnings import warn_once
from ..tape.tensor import Tensor
from .overrides import NOBODY, asked_instead, is_function, record_of, unasked
from .parsing import WHOLE, Parser, asked, parser

F = TypeVar("F", bound=Callable[..., Any])
QUICK = frozenset(
    """
    add add_ argmax backward bmm cat clamp clone contiguous copy_ cross_entropy detach dim div_ embedding eq expand
    flatten ge gelu gt item le leaky_relu linear log_softmax lt matmul mean mm mse_loss mul_ ne numel ones permute pow
    rand randn relu reshape select size softmax squeeze stack std sub sub_ sum t tensor to transpose unsqueeze var view
    where zero_ zeros zeros_like
    """.split()
)
"""Functions that look at their arguments only after something went wrong."""
BARE = frozenset(
    """
    abs bmm cos ceil div erf exp expm1 floor isnan log log1p maximum minimum mm mul neg reciprocal rsqrt sigmoid sign
    sin sqrt square tanh
    """.split()
)
"""Operations that nothing stands before, as before those that are quick: their own code finds wrong arguments (see
`looks_itself`)."""
_WRONG_KIND = (
    r"object has no attribute|not supported between|unsupported operand|is not iterable|not subscriptable|has no len"
)
_PYTHONS = (TypeError, AttributeError, IndexError)
"""Errors that Python raises where an argument does not fit."""
_OUR_NAMES = r"\b_[a-z]|'ndim'|ufunc|numpy|array"
"""Names that say nothing to who called a function."""
_OUR_TYPES = r"'(dtype|device|layout|memory_format)'"
_UNFIT = r"([\w.<>]+)\(\)( (?:got an unexpected|got multiple|missing \d|takes ).*)"
"""Python's messages for a call whose arguments do not fit the parameters."""
PUBLIC = __name__.partition("._core")[0]
"""The module of `torch`, as a script's functions name it."""
_ENGINE = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))


def guard(space: str, found: Mapping[str, Any], names: Iterable[str] | None = None) -> dict[str, Any]:
    """The functions of a part of the namespace, which look at their arguments."""
    home = PUBLIC if space in ("torch", "Tensor") else f"{PUBLIC}.{space}"
    return {
        name: guarded(Check(space, name, run), home)
        for name, run in found.items()
        if is_function(run)
        and not name.startswith("_")
        and (names is None or name in names)
        and not stands_alone(name, run)
    }


def stands_alone(name: str, run: Any) -> bool:
    """Return whether nothing is to stand before a function."""
    return (name in BARE or name in QUICK) and looks_itself(run)


def looks_itself(run: Any) -> bool:
    """Return whether this is an operation that needs one or two tensors: its own code finds wrong arguments at no
    cost."""
    op = getattr(run, "op", None)
    if op is None or hasattr(run, "__wrapped__"):
        return False
    return len(op.schema.parameters) == len(op.tensors) <= 2


def guarded(check: Check, home: str = "") -> Callable[..., Any]:
    """A function that looks at its arguments: before it begins, or if it is quick once it failed.

    `home` is the module where it is found, by pickles too.
    """
    check.home = home
    run = check.run
    plain = getattr(run, "without_keywords", run)

    if check.name in QUICK or looks_itself(run):

        def explained(*args: Any, **kwargs: Any) -> Any:
            if process_state.asks and (result := asked_instead(explained, args, kwargs)) is not NOBODY:
                return result
            try:
                if kwargs:
                    if (len(args), *kwargs, *map(type, kwargs.values())) not in named:
                        check.look_at_names(args, kwargs)
                    return run(*args, **kwargs)
                return plain(*args)
            except Exception as error:
                again = check.again(args, kwargs, error)
                if again is None:
                    raise
            return again[0](*again[1], **again[2])

        named = check.known
        if check.space in ("torch", "Tensor") and bool in map(type, _defaults(run)):
            plain = _flags_looked_at(check, plain)
        return _named_as(check, explained, home)

    known = check.known

    def checked(*args: Any, **kwargs: Any) -> Any:
        if process_state.asks and (result := asked_instead(checked, args, kwargs)) is not NOBODY:
            return result
        try:
            if not taken(known, args, kwargs):
                check(args, kwargs)
            return run(*args, **kwargs) if kwargs else plain(*args)
        except Exception as error:
            again = check.again(args, kwargs, error)
            if again is None:
                raise
        return again[0](*again[1], **again[2])

    return _named_as(check, checked, home)


def _flags_looked_at(check: Check, run: Callable[..., Any]) -> Callable[..., Any]:
    """A function that takes a number for a bool, and so looks at its arguments where that may have come by position."""
    known = check.known

    def looked(*args: Any) -> Any:
        if len(args) > 2 and not taken(known, args, {}):
            check(args, {})
        return run(*args)

    return looked


def _named_as(check: Check, made: Any, home: str) -> Callable[..., Any]:
    """Return what `functools.wraps` does, in a third of the time, for more than a thousand functions; they go by their
    public names."""
    run = check.run
    made.__name__, made.__doc__, made.__module__ = check.public, run.__doc__, home or run.__module__
    made.__qualname__ = f"Tensor.{check.public}" if check.space == "Tensor" and home == PUBLIC else check.public
    made.__dict__.update(run.__dict__)
    made.__wrapped__ = run
    named: Callable[..., Any] = made
    return named


def argument_types(args: Any) -> tuple[Any, ...]:
    """The types of arguments, and of the first element of lists."""
    result = tuple(map(type, args))
    if tuple in result or list in result:
        each = zip(result, args, strict=True)
        return tuple([(k, type(x[0]) if x else None) if k is tuple or k is list else k for k, x in each])
    return result


def _key(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return what of the arguments of a call decides whether it is taken."""
    if not kwargs:
        return argument_types(args)
    return (*argument_types(args), *kwargs, *argument_types(kwargs.values()))


_LEAST, _MOST = -(1 << 63), (1 << 63) - 1
"""The range of integers that a kernel takes."""


def _taken(known: Mapping[Any, tuple[int, ...]], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    """Return whether `known` has the types of these arguments, and their integers have at most 64 bits."""
    integers = known.get(_key(args, kwargs))
    if not integers:
        return integers is not None
    given = (*args, *kwargs, *kwargs.values())
    return all(_LEAST <= given[i] <= _MOST for i in integers)


_fast: Any = compiled("_core.arguments.fast_checks")
taken: Callable[[Any, Any, Any], bool] = _fast.taken if _fast else _taken


Handed = tuple[str, str, tuple[Any, ...], Mapping[str, Any]]
"""Arguments of a compiled function: its part of the namespace, its name, and those by position and by name."""


def hands_on(hands: Callable[..., Handed | None]) -> Callable[[F], F]:
    """Say which compiled function of PyTorch's gets the arguments of a call, and so refuses what does not fit; None:
    none does."""

    def decorate(run: F) -> F:
        run.hands = hands  # type: ignore[attr-defined]
        return run

    return decorate


class Check:
    """The checks of the arguments of one public function."""

    __slots__ = ("_parser", "home", "known", "name", "public", "run", "space")

    def __init__(self, space: str, name: str, run: Callable[..., Any]) -> None:
        self.space = space
        self.name = self.public = name
        self.run = run
        self.home = ""
        self.known: dict[Any, tuple[int, ...]] = {}
        """Types of arguments that were taken before, where the types alone decide, but for the size of integers; and
        the positions of these."""
        self._parser: Parser | bool | None = False

    @property
    def parser(self) -> Parser | None:
        if self._parser is False:
            self._parser = parser(self.space, self.name)
        return self._parser  # type: ignore[return-value]

    def __call__(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Raise PyTorch's TypeError for a call that it would not take."""
        if self._taken(args, kwargs):
            key = _key(args, kwargs)
            self.known[key] = tuple([i for i, kind in enumerate(key) if kind is int])

    def look_at_names(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """`self(...)`, of which only what came by name is remembered."""
        if self._taken(args, kwargs):
            self.known[(len(args), *kwargs, *map(type, kwargs.values()))] = ()

    def _ask(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Ask what is no tensor for what PyTorch's own Python code asks it for: the error is Python's."""
        functional = self.home.endswith("functional")
        wanted = asked(f"F.{self.public}" if functional else self.public)
        if wanted and (functional or self.space != "Tensor"):
            given = {**dict(zip(parameters_of(self.run), args, strict=False)), **kwargs}
            if not given.keys() >= set(required_of(self.run)):
                return  # The function itself says what is missing.
            for parameter in wanted:
                x = given.get(parameter.name, self)
                if x is not self and not isinstance(x, Tensor) and not (x is None and parameter.none):
                    getattr(x, parameter.kind[1:])()

    def _handed_on(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
        """Look at what a function that PyTorch has in Python hands to a compiled one (see `hands_on`)."""
        hands: Callable[..., Handed | None] | None = getattr(self.run, "hands", None)
        try:
            handed = hands(*args, **kwargs) if hands is not None else None
        except TypeError as error:
            if error.__traceback__ is not None and error.__traceback__.tb_next is not None:
                raise type(error)(re.sub(_OUR_TYPES, r"'torch.\1'", str(error))) from None
            return False  # The arguments do not go with its parameters: the function itself says so.
        if handed is None:
            return hands is None
        space, name, given, named = handed
        found = parser(space, name)
        return found is not None and found.check(given, named)

    def _taken(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
        self._ask(args, kwargs)
        if self.parser is None:
            return self._handed_on(args, kwargs)
        if self.space != "Tensor":
            return self.parser.check(args, kwargs)
        self._check_self(args)
        return self.parser.check_method(args[1:], kwargs)

    def _check_self(self, args: tuple[Any, ...]) -> None:
        if not args:
            raise TypeError(f"unbound method TensorBase.{self.name}() needs an argument")
        if not isinstance(args[0], Tensor):
            kind = type_name(args[0])
            raise TypeError(
                f"descriptor '{self.name}' for 'torch._C.TensorBase' objects doesn't apply to a '{kind}' object"
            )

    def again(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any], error: Exception
    ) -> tuple[Callable[..., Any], Iterable[Any], Mapping[str, Any]] | None:
        """A failed call that is to be made once more, of whoever wants to be asked or with Python's integers for
        NumPy's; or `explain`."""
        func = unasked(f"torch.{self.space}.{self.name}".replace("torch.torch.", "torch."), args, kwargs)
        if func is not None:
            return func, args, kwargs
        if modern := self._modern(args, kwargs):
            return self.run, *modern
        if other := self._read(args, kwargs, error):
            return self.run, *other
        if any(isinstance(x, np.integer) for x in (*args, *kwargs.values())) and _internal(error):
            plain = {k: int(x) if isinstance(x, np.integer) else x for k, x in kwargs.items()}
            return self.run, [int(x) if isinstance(x, np.integer) else x for x in args], plain
        self.explain(args, kwargs, error)
        return None

    def _modern(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]] | None:
        """The arguments of a call in a deprecated form, such as `p.add_(-lr, grad)`, in today's; with PyTorch's
        warning."""
        if self.parser is None or not any(s.hidden for s in self.parser.signatures):
            return None
        own = 1 if self.space == "Tensor" else 0
        old = self.parser.fitting(args[own:], kwargs)
        if old is None or not old.hidden:
            return None
        given = dict(zip((p.name for p in old.parameters), args[own:], strict=False)) | dict(kwargs)
        new = next(s for s in self.parser.signatures if not s.hidden and given.keys() <= {p.name for p in s.parameters})
        warn_once(
            f"This overload of {self.name} is deprecated:\n\t{self.name}{old}\nConsider using one of the following "
            f"signatures instead:\n\t{self.name}{new}",
            about="This overload",
        )
        positions = [given.pop(p.name) for p in new.parameters if not p.keyword_only and p.name in given]
        return [*args[:own], *positions], given

    def _read(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any], error: Exception
    ) -> tuple[list[Any], dict[str, Any]] | None:
        """The arguments as PyTorch's parser reads them, where the function's own code could not: the lengths of
        `squeeze(0, 2)` as one list, and tensors of one element as the integers that a signature asks for."""
        own = 1 if self.space == "Tensor" else 0
        if self.parser is None or not (type(error) is TypeError or _internal(error)):
            return None
        read = self.parser.fitting(args[own:], kwargs)
        if read is None:
            return None
        if len(args) - own > read.positional:
            return ([*args[:own], args[own:]], dict(kwargs)) if read.takes_lengths else None
        kinds = [p.kind for p in read.parameters]
        given = [_plain(x) if kind in WHOLE else x for kind, x in zip(kinds, args[own:], strict=False)]
        named = {p.name: _plain(kwargs[p.name]) for p in read.parameters if p.kind in WHOLE and p.name in kwargs}
        before = [*args[own:], *map(kwargs.get, named)]
        if all(map(operator.is_, [*given, *named.values()], before)):
            return None
        return [*args[:own], *given], {**kwargs, **named}

    def explain(self, args: tuple[Any, ...], kwargs: Mapping[str, Any], error: Exception) -> None:
        """Raise what PyTorch would for a failed call, unless `error` itself says what is wrong."""
        try:
            self._taken(args, kwargs)
        except (TypeError, ValueError, OverflowError, AttributeError) as wrong:
            raise wrong from None
        if (
            type(error) is TypeError
            and (unfit := re.match(_UNFIT, str(error)))
            and unfit[1] == innermost(self.run).__qualname__
        ):
            prefix = "Tensor." if self.space == "Tensor" and self.parser is None else ""
            raise TypeError(f"{prefix}{self.public}(){unfit[2]}") from None
        if _internal(error):
            raise (self._of_python(error) or self._no_tensor(args, kwargs) or self._unclear(args, error)) from error

    def _of_python(self, error: Exception) -> Exception | None:
        """Return what Python says of an argument in a function that PyTorch has in Python: it leaves that one too."""
        if not self._in_python or not isinstance(error, _PYTHONS) or re.search(_OUR_NAMES, str(error)):
            return None
        return type(error)(re.sub(_OUR_TYPES, r"'torch.\1'", str(error)))

    def _no_tensor(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> TypeError | None:
        """The error for the first argument that has to be a tensor by its annotation, and is none."""
        notes = getattr(innermost(self.run), "__annotations__", {})
        for position, name in enumerate(parameters_of(self.run)):
            x = args[position] if position < len(args) else kwargs.get(name)
            if notes.get(name) == "Tensor" and (position < len(args) or name in kwargs) and not isinstance(x, Tensor):
                return TypeError(
                    f"{self.name}(): argument '{name}' (position {position + 1}) must be Tensor, not {type_name(x)}"
                )
        return None

    @property
    def _in_python(self) -> bool:
        """Return whether PyTorch has the function in Python, so that Python's own errors leave it."""
        return self.parser is None

    def _unclear(self, args: tuple[Any, ...], error: Exception) -> Exception:
        if isinstance(error, IndexError) and "out of bounds" in str(error):
            return IndexError("index out of range in self")
        given = ", ".join(f"Tensor{list(x.shape)}" if isinstance(x, Tensor) else type_name(x) for x in args)
        kind = TypeError if re.search(_WRONG_KIND, str(error)) else RuntimeError
        return kind(f"{self.name}(): cannot be computed for ({given}): {error}")


def _plain(x: Any) -> Any:
    return int(x) if isinstance(x, (np.integer, Tensor)) else x


def innermost(run: Any) -> Any:
    while hasattr(run, "__wrapped__"):
        run = run.__wrapped__
    return run


def _internal(error: Exception) -> bool:
    """Return whether an error comes from inside the engine or NumPy, and neither from the call itself nor on
    purpose."""
    if is_refusal(error):
        return False
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return False
    file = trace.tb_frame.f_code.co_filename
    return file != __file__ and (file.startswith((_ENGINE, FILES, "<")) or "numpy" in file)


def parameters_of(run: Any) -> tuple[str, ...]:
    if (op := record_of(run)) is not None:
        names: tuple[str, ...] = op.names[: op.positional]
        return names
    code: CodeType = innermost(run).__code__
    return code.co_varnames[: code.co_argcount]


def _defaults(run: Any) -> tuple[Any, ...]:
    """The defaults of parameters that may be given by position."""
    op = record_of(run)
    given = (innermost(run).__defaults__ or ()) if op is None else op.defaults[: op.positional]
    return tuple(x for x in given if x is not REQUIRED)


def required_of(run: Any) -> tuple[str, ...]:
    names = parameters_of(run)
    return names[: len(names) - len(_defaults(run))]

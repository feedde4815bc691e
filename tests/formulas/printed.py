"""Reads a printed formula and computes its value with NumPy; knows nothing of the code that wrote it."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

Array = Any
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d+)?(?:e-?\d+)?)|(?P<up>[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+)|(?P<name>[^\W\dᵀ⁰¹²³⁴-⁹][^\Wᵀ⁰¹²³⁴-⁹]*′*)|(?P<sign>.))"
)


class Unreadable(Exception):
    """A formula with something in it that cannot be computed from the text alone."""


class Picked:
    """Numbers of an array, and where in it they stand."""

    def __init__(self, array: Array, places: Array) -> None:
        self.array, self.places = np.asarray(array), places

    @property
    def value(self) -> Array:
        return self.array.ravel()[self.places]


def read(text: str, names: Mapping[str, Array]) -> Array:
    """The value of a formula over named arrays."""
    return _Reader(text, names).whole()


class _Reader:
    def __init__(self, text: str, names: Mapping[str, Array]) -> None:
        self.text, self.names, self.at = text, {"pi": np.pi, **names}, 0
        self.long = sorted((name for name in names if re.search(r"\W", name)), key=len, reverse=True)

    def whole(self) -> Array:
        found = self.sum()
        if self.text[self.at :].strip():
            raise Unreadable(self.text[self.at :])
        return _plain(found)

    def next(self, sign: str) -> bool:
        """Return whether the sign comes next; then it is taken."""
        rest = self.text[self.at :]
        stripped = rest.lstrip()
        if not stripped.startswith(sign):
            return False
        self.at += len(rest) - len(stripped) + len(sign)
        return True

    def need(self, sign: str) -> None:
        if not self.next(sign):
            raise Unreadable(f"no {sign!r} before {self.text[self.at :]!r}")

    def sum(self) -> Array:
        found = self.product()
        while True:
            if self.next("+"):
                found = _plain(found) + _plain(self.product())
            elif self.next("-"):
                found = _plain(found) - _plain(self.product())
            else:
                return found

    def product(self) -> Array:
        if self.next("-"):
            return -_plain(self.product())
        found = self.power()
        while True:
            if self.next("·"):
                found = _plain(found) * _plain(self.power())
            elif self.next("/"):
                found = np.divide(_plain(found), _plain(self.power()))
            elif self.next("@"):
                found = np.matmul(_plain(found), _plain(self.power()))
            else:
                return found

    def power(self) -> Array:
        if self.next("-"):
            return -_plain(self.power())
        found = self.part()
        if (up := re.compile(r"[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+").match(self.text, self.at)) is not None:
            self.at = up.end()
            return np.power(np.asarray(_plain(found), float), int(up[0].translate(_RAISED)))
        if self.next("^"):
            return np.power(np.asarray(_plain(found), float), _plain(self.part()))
        return found

    def part(self) -> Array:
        found = self.atom()
        while self.at < len(self.text):
            if self.text[self.at] == "ᵀ":
                self.at += 1
                found = np.swapaxes(_plain(found), -2, -1)
            elif self.text[self.at] == "[":
                self.at += 1
                found = _pick(found, operator.itemgetter(self.key()))
            else:
                return found
        return found

    def key(self) -> Any:
        """Return what stands in the brackets of an index."""
        entries: list[Any] = []
        while True:
            ends: list[Any] = [None]
            while not (self.next(",") or self.next("]")):
                if self.next(":"):
                    ends.append(None)
                else:
                    index = self.sum()
                    ends[-1] = np.asarray(index.value if isinstance(index, Picked) else index)
            entry = ends[0] if len(ends) == 1 else slice(*(None if end is None else int(end) for end in ends))
            if isinstance(entry, np.ndarray):
                mask = entry.ndim and entry.dtype.kind == "f"  # a comparison is written as numbers
                entry = entry.astype(bool) if mask else entry if entry.ndim else int(entry)
            entries.append(entry)
            if self.text[self.at - 1] == "]":
                return tuple(entries)

    def atom(self) -> Array:
        for name in self.long:
            if self.next(name):
                return self.names[name]
        match = _TOKEN.match(self.text, self.at)
        if match is None:
            raise Unreadable(self.text)
        self.at = match.end()
        if match["number"]:
            number = float(match["number"])
            close = self.text[self.at : self.at + 1]
            return number * _plain(self.power()) if close.isalpha() and close != "ᵀ" else number
        if match["name"]:
            return self.named(match["name"])
        return self.bracketed(match["sign"])

    def named(self, name: str) -> Array:
        if not self.text.startswith("(", self.at):
            if name not in self.names:
                raise Unreadable(name)
            return self.names[name]
        if name not in _FUNCTIONS:
            raise Unreadable(name)
        self.at += 1
        args: list[Any] = []
        given: dict[str, Any] = {}
        while not self.next(")"):
            key = re.compile(r"\s*(\w+)=").match(self.text, self.at)
            if key is not None:
                self.at = key.end()
                given[key[1]] = self.given()
            elif self.next("()"):
                args.append(())
            elif (sizes := re.compile(r"\s*\d+(×\d+)+(?=\))").match(self.text, self.at)) is not None:
                self.at = sizes.end()
                args.append(tuple(map(int, sizes[0].split("×"))))
            else:
                args.append(self.sum())
            self.next(",")
        found = _FUNCTIONS[name](*args, **given)
        if (output := re.compile(r"\.(values|indices|logabsdet)").match(self.text, self.at)) is not None:
            self.at = output.end()
            found = found[output[1] != "values"]
        return found

    def given(self) -> Any:
        literal = re.compile(r"True|False|None|'\w+'|\([\d, -]*\)").match(self.text, self.at)
        if literal is not None:
            self.at = literal.end()
            return eval(literal[0])
        return _plain(self.sum())

    def bracketed(self, sign: str) -> Array:
        found = self.sum() if sign in "(|‖[" else None
        if sign == "(":
            self.need(")")
            return _plain(found)
        if sign == "|":
            self.need("|")
            return np.abs(_plain(found))
        if sign == "‖":
            self.need("‖")
            return np.sqrt(np.sum(np.square(_plain(found))))
        if sign == "[":
            return self.listed(found)
        raise Unreadable(self.text[self.at - 1 :])

    def listed(self, first: Array) -> Any:
        """`[a, b]`, or `[a > b]`."""
        for sign, compare in _SIGNS.items():
            if self.next(sign):
                other = self.sum()
                self.need("]")
                return compare(_plain(first), _plain(other)) * 1.0
        found = [_plain(first)]
        while self.next(","):
            found.append(_plain(self.sum()))
        self.need("]")
        return found


def _plain(value: Any) -> Array:
    if isinstance(value, Picked):
        return value.value
    return value * 1.0 if isinstance(value, np.ndarray) and value.dtype == bool else value


def _pick(base: Any, take: Callable[[Array], Array]) -> Picked:
    array = _plain(base)
    return Picked(array, take(np.arange(np.size(array)).reshape(np.shape(array))))


def _at(picked: Any, grad: Array) -> Array:
    if not isinstance(picked, Picked):
        raise Unreadable("at")
    made = np.zeros(picked.array.size)
    np.add.at(made, np.asarray(picked.places).ravel(), np.broadcast_to(_plain(grad), picked.places.shape).ravel())
    return made.reshape(picked.array.shape)


def _sum(x: Array, dim: Any = None, keepdim: bool = False) -> Array:
    return np.sum(_plain(x), axis=_dims(dim), keepdims=keepdim)


def _dims(dim: Any) -> Any:
    return dim if dim is None or isinstance(dim, tuple) else int(dim)


def _softmax(x: Array, dim: float) -> Array:
    made = np.exp(_plain(x))
    return made / made.sum(axis=int(dim), keepdims=True)


def _extreme(sign: int) -> Callable[..., Any]:
    def found(x: Array, dim: Any = None, keepdim: bool = False) -> Any:
        array = _plain(x)
        if dim is None:
            return _pick(array, lambda places: places.ravel()[np.argmax(sign * array)])
        at = np.argmax(sign * array, axis=int(dim), keepdims=True)
        kept = at if keepdim else at.squeeze(int(dim))
        return _pick(array, lambda p: np.take_along_axis(p, at, int(dim)).reshape(kept.shape)), kept

    return found


def _sorted(x: Array, k: float | None = None, dim: float = -1, descending: bool = False, largest: bool = True) -> Any:
    array, axis = _plain(x), int(dim)
    down = descending if k is None else largest
    order = np.argsort(-array if down else array, axis=axis, kind="stable")
    order = order if k is None else np.take(order, np.arange(int(k)), axis=axis)
    return _pick(array, lambda places: np.take_along_axis(places, order, axis)), order


def _transpose(x: Array, first: float, second: float) -> Picked:
    return _pick(x, lambda places: np.swapaxes(places, int(first), int(second)))


def _unfolded(x: Array, dimension: float, size: float, step: float) -> Picked:
    def take(places: Array) -> Array:
        found = np.lib.stride_tricks.sliding_window_view(places, int(size), axis=int(dimension))
        return np.take(found, np.arange(0, found.shape[int(dimension)], int(step)), axis=int(dimension))

    return _pick(x, take)


def _plainly(run: Callable[[Array], Array]) -> Callable[..., Any]:
    return lambda x: run(_plain(x))


_SIGNS = {
    "≥": np.greater_equal, "≤": np.less_equal, ">": np.greater, "<": np.less, "=": np.equal, "≠": np.not_equal,
}  # fmt: skip
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{
        name: _plainly(getattr(np, name))
        for name in ("exp", "log", "sin", "cos", "tan", "sqrt", "tanh", "sinh", "cosh")
    },
    **{f"a{name}": _plainly(getattr(np, f"arc{name}")) for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    "sign": lambda x: np.sign(_plain(x)),
    "atan2": lambda y, x: np.arctan2(_plain(y), _plain(x)),
    "abs": lambda x: np.abs(_plain(x)),
    "erf": lambda x: np.vectorize(math.erf, otypes=[float])(_plain(x)),
    "sigmoid": lambda x: 1 / (1 + np.exp(-_plain(x))),
    "softplus": lambda x: np.log1p(np.exp(_plain(x))),
    "relu": lambda x: np.maximum(_plain(x), 0),
    "maximum": lambda x, y: np.maximum(_plain(x), _plain(y)),
    "minimum": lambda x, y: np.minimum(_plain(x), _plain(y)),
    "clamp": lambda x, min=-np.inf, max=np.inf: np.clip(_plain(x), min, max),
    "where": lambda chosen, x, y: np.where(np.asarray(_plain(chosen)) != 0, _plain(x), _plain(y)),
    "sum": _sum,
    "mean": lambda x, dim=None, keepdim=False: np.mean(_plain(x), axis=_dims(dim), keepdims=keepdim),
    "norm": lambda x, dim=None, keepdim=False: np.sqrt(_sum(np.square(_plain(x)), dim, keepdim)),
    "softmax": _softmax,
    "log_softmax": lambda x, dim: np.log(_softmax(x, dim)),
    "onehot": lambda x, count: (np.asarray(_plain(x))[..., None] == np.arange(int(count))) * 1.0,
    "reshape": lambda x, shape: np.reshape(_plain(x), shape if isinstance(shape, tuple) else int(shape)),
    "ones": lambda *sizes: np.ones(tuple(map(int, sizes))),
    "outer": lambda x, y: np.multiply.outer(_plain(x), _plain(y)),
    "transpose": _transpose,
    "permute": lambda x, *dims: _pick(x, lambda places: places.transpose(tuple(map(int, dims)))),
    "flip": lambda x, dims: np.flip(_plain(x), dims),
    "roll": lambda x, shifts, dims=None: _pick(x, lambda places: np.roll(places, shifts, dims or None)),
    "tril": lambda x, diagonal=0: np.tril(_plain(x), int(diagonal)),
    "triu": lambda x, diagonal=0: np.triu(_plain(x), int(diagonal)),
    "cumsum": lambda x, dim: np.cumsum(_plain(x), axis=int(dim)),
    "repeat": lambda x, repeats: np.tile(_plain(x), repeats),
    "cat": lambda parts, dim: np.concatenate(parts, axis=int(dim)),
    "stack": lambda parts, dim: np.stack(parts, axis=int(dim)),
    "gather": lambda x, index, dim: _pick(x, lambda p: np.take_along_axis(p, np.asarray(_plain(index)), int(dim))),
    "take": lambda x, index: _pick(x, lambda places: places.ravel()[np.asarray(_plain(index))]),
    "diagonal": lambda x, offset=0, dim1=0, dim2=1: _pick(
        x, lambda places: np.diagonal(places, int(offset), int(dim1), int(dim2))
    ),
    "unfold": _unfolded,
    "max": _extreme(1),
    "min": _extreme(-1),
    "topk": _sorted,
    "sort": _sorted,
    "det": lambda x: np.linalg.det(_plain(x)),
    "inv": lambda x: np.linalg.inv(_plain(x)),
    "slogdet": lambda x: np.linalg.slogdet(_plain(x)),
    "trace": lambda x: np.trace(_plain(x)),
    "eye": lambda *sizes: np.eye(*map(int, sizes)),
    "prod": lambda x, dim=None, keepdim=False: np.prod(_plain(x), axis=_dims(dim), keepdims=keepdim),
    "detach": lambda x: _plain(x),
    "at": _at,
}

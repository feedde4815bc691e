"""The arguments of an operation that are no tensors, as short as a picture has room for: `pow 2`, `sum dim 1`."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from autograph_cli.graph.records import PACKED, Node

LONGEST = 30
"""Characters that the arguments of one operation may take."""
_SHAPES = ("sizes", "size", "strides", "storage_offset", "options", "scalar_type", "N", "C", "HxW", "source_dim")
_USUAL = {
    "alpha": (1, 1.0), "beta": (1,), "scale": (1, 1.0), "input_scale": (1, 1.0), "reduction": (1,),
    "ignore_index": (-100,), "label_smoothing": (0, 0.0), "training": (True,), "train": (True,),
    "eps": (1e-05, 1e-08, 1e-12), "momentum": (0.1,), "correction": (1,), "step": (1,), "approximate": ("none",),
    "padding_idx": (-1,), "cudnn_enabled": (True, False), "dropout_p": (0.0,), "stable": (True, False),
    "largest": (True,), "sorted": (True,),
}  # fmt: skip
"""Values that go without saying; of all other arguments that is False."""

_REDUCED = {0: "each", 2: "sum"}
"""The numbers that a loss takes its reduction as; 1, the mean, goes without saying."""

Plain = Mapping[str, Any]


def arguments_text(node: Node, shapes: Sequence[tuple[int, ...]] = (), room: int = LONGEST) -> str:
    """The plain arguments of a node's operation; `shapes` are those of the tensors that it was given.

    Of more than there is `room` for, in characters, the first ones.

    >>> from autograph_cli.graph.records import Saved
    >>> arguments_text(Node(0, "operation", "PowBackward0", "pow", (), saved=(Saved("_saved_exponent", value="2"),)))
    '2'
    """
    return _text(node.op, _plain(node), tuple(shapes), room)


def _plain(node: Node) -> tuple[tuple[str, str], ...]:
    return tuple([pair for pair in node.plain if pair[1] != PACKED])


@lru_cache(1 << 12)
def _text(op: str, given: tuple[tuple[str, str], ...], shapes: tuple[tuple[int, ...], ...], room: int) -> str:
    plain = {name: _value(value) for name, value in given}
    write = _WRITTEN.get(op.rstrip("_"))
    text = _listed(plain) if write is None else write(plain, shapes)
    if len(text) <= room:
        return text
    whole = text[: room - 1].rpartition(", ")[0]
    return f"{whole}, …" if whole else ""


@lru_cache(1 << 14)
def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


def _short(value: Any) -> str:
    if isinstance(value, (tuple, list)):
        return ", ".join(map(_short, value))
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _listed(plain: Plain) -> str:
    """Return what does not go without saying, as `dim 1, keepdim`."""
    words = []
    for name, value in plain.items():
        usual = any(value == other and type(value) is type(other) for other in _USUAL.get(name, (False,)))
        if usual or value in (None, ()) or _is_shape(name) or name.startswith("saved_tensors"):
            continue
        word = _REDUCED.get(value) if name == "reduction" else name if value is True else None
        words.append(word or f"{name} {_short(value)}")
    return ", ".join(words)


def _is_shape(name: str) -> bool:
    """Return whether an argument tells the shape of a tensor, which the arrows tell."""
    return "_sym_" in name or name.endswith(_SHAPES)


def operation_text(node: Node, shapes: Sequence[tuple[int, ...]] = (), room: int = LONGEST) -> str:
    """The operation that ran, with its plain arguments."""
    return f"{node.op} {arguments_text(node, shapes, room)}".rstrip()


_PARTS = re.compile(r"^_unsafe_|^_+|^native_|_with_indices$|_forward$|(?<=^_reshape)_alias$")


def step_text(node: Node, shapes: Sequence[tuple[int, ...]] = (), room: int = LONGEST) -> str:
    """An operation with its plain arguments as a reader would write it: `[:, 0]`, `1 −`, `max_pool2d 2×2`.

    >>> step_text(Node(0, "operation", "RsubBackward1", "rsub", (), constants=(("other", "1"),)))
    '1 −'
    """
    text = arguments_text(node, shapes, room)
    write = _STEPS.get(node.op)
    if text and write is not None:
        return write(text, {name: _value(value) for name, value in _plain(node)})
    return f"{_PARTS.sub('', node.op)} {text}".rstrip()


def _sign(op: str) -> Callable[[str, Plain], str]:
    """The sign of an operation with a number beside it; its name where it has other arguments."""
    return lambda words, plain: f"{op} {words}" if words[0].isalpha() else words.replace("- ", "− ").replace(" -", " −")


def _index(words: str, plain: Plain) -> str:
    """An index along one side."""
    dim, index = plain.get("dim"), plain.get("index", words.rpartition(", ")[2])
    alike = ":, " * dim if isinstance(dim, int) and dim >= 0 else "…, "
    return f"[{alike}{index}]"


def _interpolated(kind: str) -> Callable[[str, Plain], str]:
    """A call of `interpolate`, with its factors where all are one."""

    def text(words: str, plain: Plain) -> str:
        factors = {str(_short(value)) for name, value in plain.items() if name.startswith("scales")}
        told = f"×{factors.pop()}" if len(factors) == 1 else words
        return f"interpolate {kind[:-2]} {told}"

    return text


_STEPS: dict[str, Callable[[str, Plain], str]] = {
    **{op: _sign(op) for op in ("add", "sub", "rsub", "mul", "div")},
    **dict.fromkeys(("select", "slice"), _index),
    **{
        f"upsample_{kind}": _interpolated(kind)
        for kind in ("nearest1d", "nearest2d", "nearest3d", "linear1d", "bilinear2d", "bicubic2d", "trilinear3d")
    },
    "constant_pad_nd": lambda words, plain: words,
    "linalg_vector_norm": lambda words, plain: f"norm {words}",
    "_to_copy": lambda words, plain: f"to {words.replace('dtype ', '').replace('device ', '')}",
}
"""Operations that are a sign or an index, or called by another name: from their arguments."""


def _by(sign: str, name: str) -> Callable[[Plain, Sequence[tuple[int, ...]]], str]:
    """A number beside the operation's sign."""
    return lambda plain, shapes: f"{sign} {_short(plain[name])}".strip() if plain.get(name) is not None else ""


def _added(sign: str) -> Callable[[Plain, Sequence[tuple[int, ...]]], str]:
    """A number that is added or taken away, and by what the other side is multiplied first."""

    def write(plain: Plain, shapes: Sequence[tuple[int, ...]]) -> str:
        rest = _listed({name: value for name, value in plain.items() if name != "other"})
        return ", ".join(filter(None, (f"{sign} {_short(plain['other'])}" if "other" in plain else "", rest)))

    return write


def window(plain: Plain, kernel: Sequence[int]) -> str:
    """A window as papers tell it: `3×3 s2 p1`, without what is usual."""
    words = ["×".join(map(str, kernel))] if kernel else []
    for letter, name, usual in (("s", "stride", 1), ("p", "padding", 0), ("d", "dilation", 1)):
        value = plain.get(name)
        values = value if isinstance(value, tuple) else () if value is None else (value,)
        if any(number != usual for number in values):
            told = values[:1] if len(set(values)) == 1 else values
            words.append(letter + "×".join(map(_short, told)))
    if plain.get("groups", 1) not in (1, None):
        words.append(f"g{plain['groups']}")
    return " ".join([*words, *(["transposed"] if plain.get("transposed") is True else [])])


def _convolution(plain: Plain, shapes: Sequence[tuple[int, ...]]) -> str:
    return window(plain, shapes[1][2:] if len(shapes) > 1 else ())


def _pooling(plain: Plain, shapes: Sequence[tuple[int, ...]]) -> str:
    kernel = plain.get("kernel_size", ())
    kernel = kernel if isinstance(kernel, tuple) else (kernel,)
    whole = plain.get("stride") in (kernel, ())
    return window({name: value for name, value in plain.items() if not (whole and name == "stride")}, kernel)


def _slice(plain: Plain, shapes: Sequence[tuple[int, ...]]) -> str:
    start, end, step = (plain.get(name) for name in ("start", "end", "step"))
    ends = f"{start or ''}:{'' if end is None or abs(end) >= 2**62 else end}" + (
        f":{step}" if step not in (1, None) else ""
    )
    return f"dim {plain.get('dim')}, {ends}"


_WRITTEN: dict[str, Callable[[Plain, Sequence[tuple[int, ...]]], str]] = {
    "add": _added("+"),
    "sub": _added("-"),
    "rsub": lambda plain, shapes: f"{_short(plain['other'])} -" if "other" in plain else "",
    "mul": _by("×", "other"),
    "div": _by("÷", "other"),
    "pow": _by("", "exponent"),
    "fill": _by("", "value"),
    **dict.fromkeys(("gt", "ge", "lt", "le", "eq", "ne", "remainder", "fmod"), _by("", "other")),
    "convolution": _convolution,
    **dict.fromkeys(("max_pool2d_with_indices", "max_pool3d_with_indices", "avg_pool2d", "avg_pool3d"), _pooling),
    "slice": _slice,
    "transpose": lambda plain, shapes: f"{plain.get('dim0')}, {plain.get('dim1')}",
    "_reshape_alias": lambda plain, shapes: "",
    **dict.fromkeys(("permute", "flip"), _by("", "dims")),
    "repeat": _by("", "repeats"),
}
"""Operations whose arguments have a shorter form than a list of names and values."""

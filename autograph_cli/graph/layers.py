"""A layer of `torch.nn` in a few words, from what it says of itself: `Conv2d 3×3 s2 p1, 3→64`."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from autograph_cli.graph.arguments import window

_SIDES = ("in_features", "out_features"), ("in_channels", "out_channels"), ("in1_features", "out_features")
"""Names of what comes in and what goes out."""
_WINDOW = ("kernel_size", "stride", "padding", "dilation", "groups")
_UNSAID = frozenset(
    (
        *("eps", "momentum", "affine", "bias", "track_running_stats", "elementwise_affine", "padding_mode"),
        *("output_padding", "start_dim", "end_dim", "inplace", "ceil_mode", "batch_first", "return_indices"),
        "count_include_pad",
    )
)
"""Arguments that readers do not ask for; all others that are False or None go without saying."""
_BARE = frozenset(("reduction", "mode", "approximate", "output_size", "normalized_shape", "size"))
"""Arguments whose values say what they are."""
_COUNTED = {"num_heads": "heads", "num_layers": "layers", "num_parameters": "slopes"}


def layer_words(cls: str, made_with: str) -> str:
    """The class and what matters of what it was made with.

    >>> layer_words("Linear", "in_features=20, out_features=64, bias=True")
    'Linear 20→64'
    >>> layer_words("Conv2d", "3, 64, kernel_size=(3, 3), stride=(2, 2), padding=(1, 1)")
    'Conv2d 3×3 s2 p1, 3→64'
    >>> layer_words("Dropout", "p=0.1, inplace=False"), layer_words("MaxPool2d", "kernel_size=2, stride=2, padding=0")
    ('Dropout p=0.1', 'MaxPool2d 2×2')
    """
    return f"{cls} {', '.join(_said(cls, made_with))}".rstrip()


@lru_cache(1 << 10)
def _said(cls: str, made_with: str) -> tuple[str, ...]:
    try:
        call = ast.parse(f"f({made_with})", mode="eval").body
        assert isinstance(call, ast.Call)
        given = [ast.literal_eval(value) for value in call.args]
        named = {keyword.arg or "": ast.literal_eval(keyword.value) for keyword in call.keywords}
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return (made_with,) if len(made_with) <= 20 else ()
    return tuple(filter(None, _words(cls, given, named)))


def _words(cls: str, given: list[Any], named: dict[str, Any]) -> Iterator[str]:
    sides = next((pair for pair in _SIDES if named.keys() >= set(pair)), ())
    ends = [named[side] for side in sides] or given[:2]
    yield _window(cls, named)
    yield (", " if "Norm" in cls else "→").join(map(_short, ends))
    yield from map(_short, given[2:])
    for name, value in named.items():
        if name not in (*sides, *_WINDOW) and name not in _UNSAID and value is not None and value is not False:
            yield _argument(name, value)
    if named.get("bias") is False:
        yield "no bias"


def _argument(name: str, value: Any) -> str:
    if value is True:
        return name
    if name in _COUNTED:
        return f"{value} {_COUNTED[name]}" if value > 1 else ""
    if name in _BARE:
        return "" if value == "none" and name == "approximate" else _short(value)
    return f"{name}={_short(value)}" if len(name) == 1 else f"{name} {_short(value)}"


def _window(cls: str, named: Mapping[str, Any]) -> str:
    """The kernel with its stride, its padding and its dilation, of a layer that has one."""
    if "kernel_size" not in named:
        return ""
    sides = int(cls[-2]) if cls[-1:] == "d" and cls[-2:-1].isdigit() else 1
    wide = {name: _wide(named[name], sides) for name in _WINDOW[:-1] if name in named}
    kernel = wide.pop("kernel_size")
    if "Pool" in cls and wide.get("stride") == kernel:
        del wide["stride"]
    return window({**wide, "groups": named.get("groups", 1)}, kernel if isinstance(kernel, tuple) else ())


def _wide(value: Any, sides: int) -> Any:
    return (value,) * sides if isinstance(value, int) else value


def _short(value: Any) -> str:
    if isinstance(value, (tuple, list)):
        return "×".join(map(_short, value))
    return f"{value:.4g}" if isinstance(value, float) else str(value)

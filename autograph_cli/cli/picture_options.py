"""The options of a picture on the command line, made from the fields of `RenderOptions`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, get_type_hints

import click

from autograph_cli.cli import completion
from autograph_cli.cli.options import Command, Whole, open_option, root_option, show_option, slice_options, to_record
from autograph_cli.export import RenderOptions
from autograph_cli.export.options import Flag
from autograph_cli.export.scene.colouring import COLOURS
from autograph_cli.graph import Slice

_HINTS = get_type_hints(RenderOptions, include_extras=True)
_DEFAULTS = RenderOptions()
FLAGS: dict[str, Flag] = {
    name: flag for name, hint in _HINTS.items() for flag in getattr(hint, "__metadata__", ()) if isinstance(flag, Flag)
}
"""The fields that are options, in the order in which a command's help lists them."""


def _option(name: str, flag: Flag) -> Callable[[Command], Command]:
    """Return click's option of a field."""
    default = getattr(_DEFAULTS, name) if flag.default is None else flag.default
    word, how = name.replace("_", "-"), dict[str, Any]()
    names = flag.names or (f"--{word}",)
    if flag.choices:
        how["type"] = click.Choice(list(flag.choices))
    elif flag.least is not None:
        how["type"] = Whole(flag.least)
    elif flag.suggestions:
        how["shell_complete"] = completion.one_of(*flag.suggestions)
    elif default is False:
        how["is_flag"] = True
    else:
        names = (f"--{word}/--no-{word}",)
    return click.option(*names, name, default=default, show_default=bool(default), help=flag.help, **how)


_OPTIONS: tuple[Callable[..., Any], ...] = (
    root_option,
    slice_options,
    show_option,
    open_option,
    *(_option(name, flag) for name, flag in FLAGS.items()),
    click.option("--no-arguments", is_flag=True, help="Leave out arguments that are no tensors, such as `pow 2`."),
    click.option(
        "--check",
        "checked",
        is_flag=True,
        help="Compare each node's derivative with finite differences, and colour it by the error: --colour check.",
    ),
)


def picture_options(command: Command) -> Command:
    """Add the options of a picture; the command gets them as `options`, and as `record` what must be recorded."""

    @functools.wraps(command)
    def wrapped(
        *args: Any,
        roots: tuple[str, ...],
        part: Slice,
        shown: tuple[str, ...],
        opened_node: str | None,
        no_arguments: bool,
        checked: bool,
        **others: Any,
    ) -> None:
        asked = {name: others.pop(name) for name in FLAGS}
        asked["max_nodes"] = asked["max_nodes"] or None
        if checked:
            asked["colour"], shown = asked["colour"] or "check", (*shown, "check")
        recorded = COLOURS[asked["colour"]].recorded if asked["colour"] else ""
        record = to_record(shown, opened_node) + ((recorded,) if recorded else ())
        shown = tuple(word for word in shown if word != "arguments" or not no_arguments)
        options = RenderOptions(roots=roots or None, part=part, shown=shown, inside=opened_node, **asked)
        command(*args, options=options, record=record, **others)

    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped  # type: ignore[return-value]

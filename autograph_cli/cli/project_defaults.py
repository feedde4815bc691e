"""Options that a project keeps in pyproject.toml: `[tool.autograph.render]` and `[tool.autograph.show]`."""

from __future__ import annotations

from typing import Any

import click

from autograph_cli.testing import settings

ONCE = frozenset(
    ("forward", "backward", "double-backward", "step", "root", "from", "to", "around", "inside", "output", "help")
)
"""Options that say what to look at this time; a project has nothing to say of them."""


class ConfiguredCommand(click.Command):
    """A command whose options may stand in pyproject.toml, under its own name; the command line goes before."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        table, file = settings.table(self.name or "")
        named = {option: parameter for parameter in self.params for option in _names(parameter)}
        defaults: dict[str, Any] = {}
        for key, value in table.items():
            where = f"{file}: tool.autograph.{self.name}"
            if key not in named:
                raise settings.SettingsError(f"{where} has no setting {key!r}; known ones: {', '.join(sorted(named))}.")
            defaults[named[key].name or key] = _checked(ctx, named[key], value, f"{where}.{key}")
        ctx.default_map = defaults
        return super().parse_args(ctx, args)


def _names(parameter: click.Parameter) -> list[str]:
    if not isinstance(parameter, click.Option):
        return []
    names = [name.removeprefix("--") for name in parameter.opts if name.startswith("--")]
    return [name for name in names if name not in ONCE]


def _checked(ctx: click.Context, parameter: click.Parameter, value: Any, where: str) -> Any:
    """The value, if the option would take it; a list stands for an option that is repeated, or has commas."""
    if isinstance(value, list) and not parameter.multiple and all(isinstance(item, str) for item in value):
        value = ",".join(value)
    flag = isinstance(parameter, click.Option) and parameter.is_flag
    if isinstance(value, bool) is not flag or isinstance(value, dict):
        wanted = "true or false" if flag else "a text or a number"
        raise settings.SettingsError(f"{where} must be {wanted}, not {value!r}.")
    try:
        parameter.type_cast_value(ctx, value)
    except click.BadParameter as error:
        raise settings.SettingsError(f"{where}: {error.message}") from None
    return value

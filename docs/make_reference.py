"""Writes the pages of the reference that are made from the code: commands, findings, and the fields of a trace."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import click

from autograph_cli.cli.main import main
from autograph_cli.findings import RULES

SCHEMA = Path(__file__).parent / "trace.schema.json"


def write(folder: Path) -> None:
    """Write all of them into this folder."""
    folder.mkdir(exist_ok=True)
    for name, text in {"commands": commands(), "codes": codes(), "trace-fields": fields()}.items():
        file = folder / f"{name}.md"
        if not file.is_file() or file.read_text("utf-8") != text:
            file.write_text(text, "utf-8")


def commands() -> str:
    """Every command with its help, arguments and options."""
    group = click.Context(main, info_name="autograph")
    lines = ["# Commands", "", "Made from the code. `autograph COMMAND --help` says the same in a terminal.", ""]
    for name in main.list_commands(group):
        command = main.get_command(group, name)
        assert command is not None
        context = click.Context(command, info_name=name, parent=group)
        lines += [f"## autograph {name}", "", "```text", command.get_usage(context), "```", ""]
        for part in inspect.cleandoc(command.help or "").split("\n\n"):
            lines += ["```console", part.removeprefix("\b\n"), "```", ""] if part.startswith("\b\n") else [part, ""]
        rows = [record for each in command.get_params(context) if (record := each.get_help_record(context))]
        lines += ["| option | |", "|---|---|"]
        lines += [f"| `{_cell(option)}` | {_cell(text)} |" for option, text in rows]
        lines.append("")
    return "\n".join(lines)


def codes() -> str:
    """Every finding: its code, what it says, why, and what to do."""
    lines = ["# Codes of findings", "", "Made from the code; [each with an example](../findings.md).", ""]
    lines += ["| code | | reason | remedy |", "|---|---|---|---|"]
    for rule in sorted(RULES, key=lambda rule: rule.code):
        lines.append("| " + " | ".join(map(_cell, (rule.code, rule.title, rule.reason, rule.remedy))) + " |")
    return "\n".join([*lines, ""])


def fields() -> str:
    """Every field of a trace by its JSON schema."""
    schema = json.loads(SCHEMA.read_text("utf-8"))
    lines = ["# Fields of a trace", "", "Made from the JSON schema; [what they mean](../trace-format.md).", ""]
    for name, each in {"trace": schema, **schema["$defs"]}.items():
        if "properties" not in each:
            continue
        needed = each.get("required", [])
        lines += [f"## {name}", "", "| field | type | needed |", "|---|---|---|"]
        for key, kind in each["properties"].items():
            lines.append(f"| `{key}` | {_cell(_type(kind))} | {'yes' if key in needed else ''} |")
        lines.append("")
    return "\n".join(lines)


def _type(kind: dict[str, Any]) -> str:
    if "$ref" in kind:
        return str(kind["$ref"]).rpartition("/")[2]
    if "anyOf" in kind:
        return " or ".join(map(_type, kind["anyOf"]))
    if "prefixItems" in kind:
        return f"[{', '.join(map(_type, kind['prefixItems']))}]"
    if "items" in kind:
        return f"list of {_type(kind['items'])}"
    if "const" in kind or "enum" in kind:
        return " or ".join(f"`{json.dumps(value)}`" for value in kind.get("enum", [kind.get("const")]))
    found = kind.get("type", "any")
    return " or ".join(found) if isinstance(found, list) else str(found)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")

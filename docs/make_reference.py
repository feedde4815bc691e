"""Writes the pages of the reference that are made from the code: one for each command and each finding, the fields of a
trace, and the JSON that commands print."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path
from typing import Any

import click

from autograph_cli.cli.main import main
from autograph_cli.findings import RULES

SCHEMA = Path(__file__).parent / "trace.schema.json"
ANSWERS = Path(__file__).parent / "commands.schema.json"
FINDINGS = Path(__file__).parent / "findings.md"


def write(folder: Path) -> None:
    """Write all of them into this folder."""
    for name, text in {**commands(), **codes(), "trace-fields": fields(), "command-json": answers()}.items():
        file = folder / f"{name}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.is_file() or file.read_text("utf-8") != text:
            file.write_text(text, "utf-8")


def commands() -> dict[str, str]:
    """The page of each command, with its help, arguments and options; and one that lists them."""
    group = click.Context(main, info_name="autograph")
    head = "Made from the code. `autograph COMMAND --help` says the same in a terminal."
    names = main.list_commands(group)
    pages = {"commands": _list("Commands", head, [f"commands/{name}" for name in names])}
    for name in names:
        command = main.get_command(group, name)
        assert command is not None
        context = click.Context(command, info_name=name, parent=group)
        lines = [f"# autograph {name}", "", "```text", command.get_usage(context), "```", ""]
        for part in inspect.cleandoc(command.help or "").split("\n\n"):
            lines += ["```console", part.removeprefix("\b\n"), "```", ""] if part.startswith("\b\n") else [part, ""]
        rows = [record for each in command.get_params(context) if (record := each.get_help_record(context))]
        lines += ["| option | |", "|---|---|"]
        lines += [f"| `{_cell(option)}` | {_cell(text)} |" for option, text in rows]
        pages[f"commands/{name}"] = "\n".join([*lines, ""])
    return pages


def codes() -> dict[str, str]:
    """The page of each finding: what it says, why, what to do, and an example; and one that lists them."""
    rules = sorted(RULES, key=lambda rule: rule.code)
    parts = re.split(r"^### (AG\d+): .*\n", FINDINGS.read_text("utf-8"), flags=re.MULTILINE)
    shown = {
        code: re.split(r"^## ", part, flags=re.MULTILINE)[0]
        for code, part in zip(parts[1::2], parts[2::2], strict=True)
    }
    head = "Made from the code. `autograph explain CODE` says the same in a terminal."
    pages = {"codes": _list("Codes of findings", head, [f"codes/{rule.code}" for rule in rules])}
    for rule in rules:
        lines = [f"# {rule.code}: {rule.title}", "", f"**Why:** {rule.reason}", "", f"**Do:** {rule.remedy}", ""]
        example = shown[rule.code].strip().replace("](", "](../../")
        pages[f"codes/{rule.code}"] = "\n".join([*lines, "## Example", "", example, ""])
    return pages


def answers() -> str:
    """The output of each command with `--json`, as a schema."""
    schema = json.loads(ANSWERS.read_text("utf-8"))["$defs"]
    lines = [
        "# JSON of commands",
        "",
        "Made from [the schema](../commands.schema.json); [how to use it](../agents.md).",
        "",
    ]
    for name, each in schema.items():
        if name.startswith("autograph "):
            lines += [f"## {name}", "", "```json", json.dumps(each, indent=1), "```", ""]
    lines += ["## Records", "", "```json"]
    records = {name: each for name, each in schema.items() if not name.startswith("autograph ")}
    return "\n".join([*lines, json.dumps(records, indent=1), "```", ""])


def _list(title: str, head: str, pages: list[str]) -> str:
    return "\n".join([f"# {title}", "", head, "", "```{toctree}", ":maxdepth: 1", "", *pages, "```", ""])


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

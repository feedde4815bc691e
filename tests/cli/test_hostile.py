"""Traces, names and snapshots of others: no escape code reaches the terminal, no picture is malformed, no traceback is ours."""

from __future__ import annotations

import json
import os
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from autograph_cli.graph import from_json
from autograph_cli.record.run import store

Cli = Callable[..., Result]
TRACES = Path(__file__).parent.parent / "data" / "traces"
WORDS = {
    "escape": "\x1b]0;title\x07\x1b[31mred",
    "c1": "\x9b31m",
    "bidi": "\u202eevil\u2066",
    "nul": "a\x00b",
    "lines": "a\nb\r\nc\x0b\u2028",
    "surrogate": "a\ud800b\udcff",
    "markup": "<b>&amp;]]><script>alert(1)</script>",
    "link": '<a HREF="javascript:alert(1)">',
    "quotes": '"\'\\"; URL="javascript:alert(1)',
    "yaml": '---\n"x": [',
    "rich": "[red]x[/red][link=file:///]",
    "private": "\ue000\ufffe\U0010ffff",
}
KEPT = ("kind", "type", "format", "call")
"""Fields whose words have a form."""


def hostile(value: Any, word: str, key: str = "") -> Any:
    """The same with this word instead of, or before, each text."""
    if isinstance(value, dict):
        return {name: item if name in KEPT else hostile(item, word, name) for name, item in value.items()}
    if isinstance(value, list):
        return [hostile(item, word, key) for item in value]
    return f"{word}{value}" if isinstance(value, str) else value


def texts() -> Iterator[tuple[str, str]]:
    for path in sorted(TRACES.glob("*.json")):
        if path.stat().st_size < 60_000:
            yield path.stem, path.read_text("utf-8")


def unprinted(text: str) -> set[str]:
    return {c for c in text if not (c.isprintable() or c in "\n\t")}


COMMANDS = [
    ["show", "t.json", "--details"],
    ["show", "t.json", "--backward", "--depth", "0"],
    ["show", "t.json", "--double-backward", "--show", "dtype,line,bytes,saved"],
    ["show", "t.json", "--step", "77"],
    ["show", "t.json", "--root", "nothing"],
    ["why", "nothing", "w", "t.json"],
    ["diff", "t.json", "t.json"],
    ["diff", "t.json", "plain.json"],
    ["diff", "-f", "json", "t.json", "plain.json"],
    ["render", "t.json", "--from", "nothing"],
    *(["render", "t.json", view, "-f", format_, "-o", "-", "--show", "dtype,line,bytes,saved"]
      for view in ("--forward", "--backward", "--double-backward")
      for format_ in ("svg", "dot", "mermaid", "graphml", "gexf", "cytoscape", "model-explorer", "text", "json", "html")),
]  # fmt: skip


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("name", [name for name, _ in texts()])
def test_what_is_printed_of_a_hostile_trace_cannot_be_obeyed(cli: Cli, tmp_path: Path, name: str, word: str) -> None:
    plain = dict(texts())[name]
    (tmp_path / "plain.json").write_text(plain)
    (tmp_path / "t.json").write_text(json.dumps(hostile(json.loads(plain), WORDS[word])))
    for command in COMMANDS:
        result = cli(*command)
        assert result.exception is None or isinstance(result.exception, SystemExit), (command, result.exception)
        harmless = set(WORDS["private"]) if "json" in command else set()
        assert not unprinted(result.stdout) - harmless, (command, unprinted(result.stdout))
        assert not unprinted(result.stderr), (command, result.stderr)
        if result.exit_code == 0 and command[0] == "render":
            is_well_formed(command[4], result.stdout)


def is_well_formed(format_: str, text: str) -> None:
    if format_ in ("svg", "graphml", "gexf"):
        ET.fromstring(text)
        assert "href" not in text.lower().replace("&lt;a href", "")
    elif format_ == "json":
        json.loads(text)
    elif format_ == "mermaid" and text.startswith("---"):
        assert text.splitlines()[2] == "---"
    elif format_ == "dot":
        assert "tooltip=<" not in text


def test_reports_and_comparisons_of_hostile_names_are_well_formed(cli: Cli, tmp_path: Path) -> None:
    name = "a\x1b[31m\x9b<b>.py"
    (tmp_path / name).write_text("import torch\nx = torch.ones(2, requires_grad=True)\ny = x * 2\n")
    assert cli("snapshot", name).exit_code == 0
    (tmp_path / name).write_text("import torch\nx = torch.ones(2, requires_grad=True)\ny = (x * 2).exp()\n")
    result = cli("snapshot", "--check", "--github", "--junit", "junit.xml", name)
    assert result.exit_code == 1
    assert not unprinted(result.stdout)
    ET.parse(tmp_path / "junit.xml")
    result = cli("diff", name, name.replace(".py", ".graph.txt"), "-f", "svg")
    assert result.exit_code == 1
    ET.fromstring(result.stdout)
    assert not unprinted(result.stdout)


@pytest.mark.parametrize("device", ["\x1b[31m", "a b", "cpu\x9b", "<x>", "cuda:0]"])
def test_device_is_a_plain_word(cli: Cli, tmp_path: Path, device: str) -> None:
    data = json.loads(next(texts())[1])
    data["steps"][0]["graph"]["nodes"][0]["outputs"][0]["type"] = f"float32[3]@{device}"
    (tmp_path / "t.json").write_text(json.dumps(data))
    result = cli("show", "t.json")
    assert result.exit_code == 2
    assert "must be a type such as" in result.stderr
    assert not unprinted(result.stderr)


NUMBER = "9" * 5_000
NUMBERS = {
    "a count of too many digits": ('"total_steps": 1', f'"total_steps": {NUMBER}'),
    "a count beyond 64 bits": ('"total_steps": 1', '"total_steps": 99999999999999999999'),
    "an id of many digits": ('"id": 0', f'"id": {"9" * 4_000}'),
    "a shape of many dimensions": ("float32[3]", f"float32[{', '.join(['9'] * 100_000)}]"),
    "an order of many digits": ('"id": 0', f'"order": {"9" * 4_000}, "id": 0'),
}


@pytest.mark.parametrize("what", NUMBERS)
def test_large_numbers_of_a_trace_are_one_sentence(cli: Cli, tmp_path: Path, what: str) -> None:
    old, new = NUMBERS[what]
    (tmp_path / "t.json").write_text(small_trace().replace(old, new))
    result = cli("show", "t.json")
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: t.json is ")
    assert result.stderr.count("\n") == 1
    assert len(result.stderr) < 500


def small_trace() -> str:
    nodes = [
        {
            "id": 0,
            "kind": "leaf",
            "name": "AccumulateGrad",
            "op": "",
            "outputs": [{"type": "float32[3]", "names": ["w"]}],
        },
        {
            "id": 1,
            "kind": "operation",
            "name": "MulBackward0",
            "op": "mul",
            "outputs": [{"type": "float32[3]", "names": ["y"]}],
            "next": [[0, 0]],
            "args": [[0, 0]],
            "saved": [{"name": "x", "type": "float32[3]", "value": "", "bytes": 12, "storage": 0}],
            "measured": {"time": 5, "backward_time": 6},
        },
    ]
    graph = {"nodes": nodes, "roots": [{"name": "y", "node": 1, "nr": 0}], "passes": []}
    head = {"format": "autograph-trace", "version": 2, "script": "a.py", "engine": "autograph", "total_steps": 1}
    return json.dumps({**head, "failure": "", "steps": [{"number": 0, "graph": graph}]})


LARGEST = (1 << 63) - 1


@pytest.mark.parametrize(("old", "new"), [
    ('"time": 5', f'"time": {LARGEST}'),
    ('"backward_time": 6', f'"backward_time": {LARGEST}'),
    ('"bytes": 12', f'"bytes": {LARGEST}'),
    ("float32[3]", f"float32[{', '.join(['9' * 18] * 64)}]"),
])  # fmt: skip
def test_huge_measures_are_shown(cli: Cli, tmp_path: Path, old: str, new: str) -> None:
    text = small_trace().replace(old, new)
    from_json(text)
    (tmp_path / "t.json").write_text(text)
    for command in (
        ["show", "t.json", "--details", "--show", "time,bytes,saved,dtype"],
        ["show", "t.json", "--backward", "--show", "time,bytes"],
        *(["render", "t.json", "-f", format_, "-o", "-", "--show", "time,bytes,saved"] for format_ in ("svg", "html", "dot")),
        ["why", "y", "w", "t.json"],
        ["diff", "t.json", "t.json"],
    ):  # fmt: skip
        result = cli(*command)
        assert result.exit_code == 0, (command, result.stderr, result.exception)


@pytest.mark.parametrize("option", ["--step", "--order", "--radius", "--depth", "--max-nodes"])
@pytest.mark.parametrize("digits", [19, 400, 5_000])
def test_options_of_many_digits_are_no_traceback(cli: Cli, tmp_path: Path, option: str, digits: int) -> None:
    (tmp_path / "t.json").write_text(small_trace())
    for command in ("render", "show"):
        if (command, option) == ("show", "--max-nodes"):
            continue
        result = cli(command, "t.json", option, "9" * digits, *(["--around", "y"] if option == "--radius" else []))
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception


@pytest.mark.parametrize("steps", [NUMBER, f"{NUMBER}:", f":{NUMBER}"])
def test_steps_of_many_digits_are_refused(cli: Cli, tmp_path: Path, steps: str) -> None:
    (tmp_path / "a.py").touch()
    assert cli("run", "--steps", steps, "a.py").exit_code == 2
    (tmp_path / "pyproject.toml").write_text(f'[tool.autograph]\nsteps = "{steps}"\n')
    assert cli("snapshot", "a.py").exit_code == 2


@pytest.mark.parametrize("length", [240, 249, 250, 255, 300])
@pytest.mark.parametrize(
    "command", [["render", "{}"], ["show", "{}"], ["run", "{}"], ["snapshot", "{}"], ["diff", "{}", "{}"],
                ["render", "t.json", "-o", "{}"], ["run", "-o", "{}", "a.py"], ["why", "a", "b", "{}"]]
)  # fmt: skip
def test_long_names_are_no_traceback(cli: Cli, tmp_path: Path, command: list[str], length: int) -> None:
    (tmp_path / "t.json").write_text(small_trace())
    (tmp_path / "a.py").touch()
    for ending in (".py", ".svg", ".json"):
        name = "n" * (length - len(ending)) + ending
        if ending == ".py" and length <= 255:
            (tmp_path / name).write_text("import torch\nx = torch.ones(2, requires_grad=True)\ny = x * 2\n")
        result = cli(*(word.replace("{}", name) for word in command))
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception


def test_error_about_a_hostile_name_is_printed_visibly(cli: Cli) -> None:
    for command in (["show", "\x1b[31m.json"], ["run", "\x1b[31m.py"], ["render", "--step", "\x1b"], ["\x1b[31m"]):
        result = cli(*command)
        assert result.exit_code
        assert not unprinted(result.stderr), result.stderr


@pytest.mark.skipif(os.name == "nt", reason="names are text there")
def test_name_that_is_no_utf_8_is_run_and_shown(autograph: Callable[..., Any], cli: Cli, tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9.py")
    try:
        (tmp_path / name).write_text("import torch\nx = torch.ones(2, requires_grad=True)\ny = x * 2\n")
    except OSError:
        pytest.skip("the file system takes no such name")
    for command in (["run", name], ["snapshot", name]):
        done = autograph(*command)
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
    for command in (["render"], ["show", "--details"], ["render", "-f", "html"], ["why", "y", "x"]):
        assert cli(*command).exit_code == 0


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
@pytest.mark.parametrize("command", ["run a.py", "open a.py --no-browser", "show a.py", "run fails.py"])
def test_no_command_writes_through_a_link_in_the_store(cli: Cli, tmp_path: Path, command: str) -> None:
    """What is written without being named: all names that the store of any command has."""
    script = "import torch\nx = torch.ones(2, requires_grad=True)\n(x * 2).sum().backward()\n"
    (tmp_path / "a.py").write_text(script)
    (tmp_path / "fails.py").write_text(f"{script}raise ValueError\n")
    for each in ("run a.py", "run fails.py", "open a.py --no-browser"):
        cli(*each.split())
    kept = tmp_path / store.FOLDER
    names = os.listdir(kept)
    assert len(names) == 4
    (tmp_path / "other").write_text("of a person")
    for name in names:
        (kept / name).unlink()
        (kept / name).symlink_to(tmp_path / "other")
    cli(*command.split())
    assert (tmp_path / "other").read_text() == "of a person"
